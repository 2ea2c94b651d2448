import { isBoolean, isText, optional, type Rules, readOptions } from '../../src/lib/options.js'
import { RATE_LIMIT_MODE } from '../../src/limits/mode.js'
import type { OpenApiDocument, OpenApiOptions } from './document.js'

/**
 * The OpenAPI 3.1 description of the API as JSON text, generated from the schemas and constants that
 * the store uses. The bounds of an int64 have all their digits.
 *
 * @throws OptionError
 */
export async function openApiJson(options: OpenApiOptions = {}): Promise<string> {
  checkOpenApiOptions(options)
  const { describeApi } = await import('./document.js')
  const marked = (_name: string, value: unknown) =>
    typeof value === 'bigint' ? `int64:${value}` : value
  const text = JSON.stringify(describeApi(options), marked, 2)
  return text.replaceAll(/"int64:(-?\d+)"/g, '$1')
}

/**
 * The same as `JSON.parse` reads it, which rounds the bounds of an int64.
 *
 * @throws OptionError
 */
export async function openApiDocument(options: OpenApiOptions = {}): Promise<OpenApiDocument> {
  return JSON.parse(await openApiJson(options)) as OpenApiDocument
}

/** @throws OptionError */
export function checkOpenApiOptions(options: OpenApiOptions): void {
  readOptions(options, {}, RULES)
}

const RULES: Rules<OpenApiOptions> = {
  baseUrl: optional(isText),
  stagingBaseUrl: optional(isText),
  pagination: optional(isBoolean),
  rateLimit: optional(RATE_LIMIT_MODE),
  idempotency: optional(isBoolean),
  demoKeys: optional({
    expected: 'an array of strings',
    accepts: keys => Array.isArray(keys) && keys.every(key => typeof key === 'string'),
  }),
}
