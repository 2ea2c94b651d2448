import { settingsOf } from '../../../src/lib/check-options.js'
import {
  describeApi,
  OPENAPI_OPTIONS,
  type OpenApiDocument,
  type OpenApiOptions,
} from './document.js'

/**
 * Returns the OpenAPI 3.1 description of the API as JSON, generated from the store's schemas and
 * constants. The bounds of an int64 have all their digits.
 * @throws OptionError
 *
 * @example
 * import { writeFileSync } from 'node:fs'
 * import { openApiJson } from 'animal-adoption-store/openapi'
 *
 * writeFileSync('openapi.json', openApiJson())
 */
export function openApiJson(options: OpenApiOptions = {}): string {
  const marked = (_name: string, value: unknown) =>
    typeof value === 'bigint' ? `int64:${value}` : value
  const text = JSON.stringify(describeApi(settingsOf(OPENAPI_OPTIONS, options)), marked, 2)
  return text.replaceAll(/"int64:(-?\d+)"/g, '$1')
}

/**
 * Returns the same description as parsed by `JSON.parse`, which rounds the bounds of an int64.
 * @throws OptionError
 *
 * @example
 * import { openApiDocument } from 'animal-adoption-store/openapi'
 *
 * console.log(Object.keys(openApiDocument().paths)) // prints [ '/pets', '/pets/{petId}' ]
 */
export function openApiDocument(options: OpenApiOptions = {}): OpenApiDocument {
  return JSON.parse(openApiJson(options)) as OpenApiDocument
}
