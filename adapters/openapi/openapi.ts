import { isBoolean, isText, optional, type Rules, readOptions } from '../../src/options.js'

export interface OpenApiOptions {
  /**
   * What the specification writes `{base_url}`.
   * @default an address that leads nowhere: the specification gives none
   */
  readonly baseUrl?: string | undefined
  /** What it writes `{staging_base_url}`. @default as above */
  readonly stagingBaseUrl?: string | undefined
  /** Also describe what the store option of that name adds. @default false */
  readonly pagination?: boolean | undefined
}

/** An OpenAPI 3.1 description, as plain data that JSON can hold. */
export interface OpenApiDocument {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly servers: readonly object[]
  readonly paths: Readonly<Record<string, object>>
  readonly components: Readonly<Record<string, object>>
  readonly [field: string]: unknown
}

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
