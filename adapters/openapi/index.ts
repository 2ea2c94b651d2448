export { type OpenApiDocument, type OpenApiOptions, openApiDocument } from './openapi.js'
