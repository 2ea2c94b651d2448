export { OptionError } from '../../../src/lib/check-options.js'
export type { OpenApiDocument, OpenApiOptions } from './document.js'
export { openApiDocument, openApiJson } from './openapi.js'
