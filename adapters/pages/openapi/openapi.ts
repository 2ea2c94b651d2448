import { settingsOf } from '../../../src/lib/check-options.js'
import {
  describeApi,
  OPENAPI_OPTIONS,
  type OpenApiDocument,
  type OpenApiOptions,
} from './document.js'

/**
 * The OpenAPI 3.1 description of the API as JSON text, generated from the schemas and constants that
 * the store uses. The bounds of an int64 have all their digits.
 *
 * @throws OptionError
 */
export function openApiJson(options: OpenApiOptions = {}): string {
  const marked = (_name: string, value: unknown) =>
    typeof value === 'bigint' ? `int64:${value}` : value
  const text = JSON.stringify(describeApi(settingsOf(OPENAPI_OPTIONS, options)), marked, 2)
  return text.replaceAll(/"int64:(-?\d+)"/g, '$1')
}

/**
 * The same as `JSON.parse` reads it, which rounds the bounds of an int64.
 *
 * @throws OptionError
 */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  return JSON.parse(openApiJson(options)) as OpenApiDocument
}
