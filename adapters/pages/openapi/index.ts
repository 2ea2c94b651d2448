export type { OpenApiDocument, OpenApiOptions } from './document.js'
export { openApiDocument, openApiJson } from './openapi.js'
