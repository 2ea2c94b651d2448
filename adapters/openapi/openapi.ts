import { isBoolean, isText, optional, type Rules, readOptions } from '../../src/options.js'
import type { OpenApiDocument, OpenApiOptions } from './document.js'

/**
 * The OpenAPI 3.1 description of the API, made from the schemas and constants that it runs by.
 *
 * @throws OptionError
 */
export async function openApiDocument(options: OpenApiOptions = {}): Promise<OpenApiDocument> {
  checkOpenApiOptions(options)
  const { describeApi } = await import('./document.js')
  return describeApi(options)
}

/** @throws OptionError */
export function checkOpenApiOptions(options: OpenApiOptions): void {
  readOptions(options, {}, RULES)
}

const RULES: Rules<OpenApiOptions> = {
  baseUrl: optional(isText),
  stagingBaseUrl: optional(isText),
  pagination: optional(isBoolean),
}
