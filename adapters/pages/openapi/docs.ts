import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Awaitable } from '../../../src/lib/async.js'
import { settingsOf } from '../../../src/lib/check-options.js'
import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { contentSecurityPolicy, type Page, withPages } from '../../http/extra-pages.js'
import { DOCS_PAGE, DOCS_STYLE, NOT_INSTALLED_PAGE, startScript } from './docs-page.js'
import { OPENAPI_OPTIONS, type OpenApiOptions } from './document.js'
import { openApiJson } from './openapi.js'

export { OptionError } from '../../../src/lib/check-options.js'

/**
 * `baseUrl` is relative to the description, so that "Try it out" reaches this server.
 *
 * @example
 * import { withDocs } from 'animal-adoption-store/docs'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const handler = withDocs(createTestDouble(), { demoKeys: ['demo-free'] })
 */
export type DocsOptions = Omit<OpenApiOptions, 'baseUrl'>

/**
 * Adds `GET /openapi.json` and `GET /docs` outside the API: no key, no quota. The page is Swagger
 * UI if the package `swagger-ui-dist` is installed; it loads nothing from other hosts.
 * @throws OptionError, or TypeError for an invalid address
 *
 * @example
 * import { withDocs } from 'animal-adoption-store/docs'
 * import { listen } from 'animal-adoption-store/http'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const server = await listen(withDocs(createTestDouble()), { port: 0 })
 * await server.close()
 */
export function withDocs(handler: ApiHandler, options: DocsOptions = {}): ApiHandler {
  const [demoKey] = settingsOf(OPENAPI_OPTIONS, options).demoKeys
  const { stagingBaseUrl } = options
  const origins = stagingBaseUrl === undefined ? [] : [new URL(stagingBaseUrl).origin]
  // Swagger UI sets inline styles, and its style sheet embeds images.
  const policy = contentSecurityPolicy(["'unsafe-inline'"], origins)
  const headers = { ...PUBLIC, 'Content-Security-Policy': policy }
  const page = { type: HTML, headers, text: DOCS_PAGE }
  const start = { type: JAVASCRIPT, headers: PUBLIC, text: startScript(demoKey) }
  const pages = new Map<string, () => Awaitable<Page>>([
    ['/openapi.json', once(openApi)],
    ['/docs', () => (swaggerUi() ? page : NOT_INSTALLED)],
    ['/docs/start.js', () => start],
    ['/docs/page.css', () => STYLE],
    ['/docs/swagger-ui-bundle.js', once(() => swaggerUiFile('swagger-ui-bundle.js', JAVASCRIPT))],
    ['/docs/swagger-ui.css', once(() => swaggerUiFile('swagger-ui.css', CSS))],
  ])
  return withPages(handler, pages)

  /** Its address is relative to this description, which a proxy may serve below any prefix. */
  function openApi(): Page {
    const text = openApiJson({ ...options, baseUrl: `.${handler.basePath}` })
    return { text, headers: { ...PUBLIC, ...DOWNLOAD, ETag: tagOf(text) } }
  }
}

function swaggerUi(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  } catch {
    return undefined
  }
}

/** Swagger UI has 1.5 MB. */
function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}

async function swaggerUiFile(name: string, type: string): Promise<Page> {
  const directory = swaggerUi()
  if (!directory) return NOT_INSTALLED
  const text = await readFile(join(directory, name), 'utf8')
  return { type, text, headers: { ...PUBLIC, ETag: tagOf(text) } }
}

function tagOf(text: string): string {
  return `"${createHash('sha256').update(text).digest('base64url')}"`
}

/** Everything is public, and pages of other origins may read the description. */
const PUBLIC = { 'Cache-Control': 'no-cache', 'Access-Control-Allow-Origin': '*' }

const DOWNLOAD = { 'Content-Disposition': 'attachment; filename="animal-adoption-store.json"' }

const CSS = 'text/css; charset=utf-8'
const JAVASCRIPT = 'text/javascript; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

const STYLE: Page = { type: CSS, headers: PUBLIC, text: DOCS_STYLE }
const NOT_INSTALLED: Page = { status: 404, type: HTML, headers: PUBLIC, text: NOT_INSTALLED_PAGE }
