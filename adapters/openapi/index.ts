export type { OpenApiDocument, OpenApiOptions } from './document.js'
export { openApiDocument } from './openapi.js'
