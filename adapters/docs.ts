import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ApiHandler, ApiRequest } from '../src/api.js'
import type { Awaitable } from '../src/awaitable.js'
import type { OpenApiOptions } from './openapi/document.js'
import { checkOpenApiOptions, openApiDocument } from './openapi/openapi.js'
import { type Page, withPages } from './pages.js'

/** The base address is that of the request, so that what is tried out reaches this server. */
export type DocsOptions = Omit<OpenApiOptions, 'baseUrl'>

/**
 * Also answers `GET /openapi.json` and `GET /docs`, outside the API: no key, no quota. The page is
 * Swagger UI where the package `swagger-ui-dist` is installed, and loads nothing from elsewhere.
 *
 * @throws OptionError, or TypeError when an address is none
 */
export function withDocs(handler: ApiHandler, options: DocsOptions = {}): ApiHandler {
  checkOpenApiOptions(options)
  const { stagingBaseUrl } = options
  const staging = stagingBaseUrl === undefined ? [] : [new URL(stagingBaseUrl).origin]
  const policy = [...POLICY, ["connect-src 'self'", ...staging].join(' ')].join('; ')
  const page = { ...PAGE, headers: { ...PUBLIC, 'Content-Security-Policy': policy } }
  const pages = new Map<string, (request: ApiRequest) => Awaitable<Page>>([
    ['/openapi.json', openApiJson],
    ['/docs', () => (swaggerUi() ? page : NOT_INSTALLED)],
    ['/docs/start.js', () => START],
    ['/docs/swagger-ui-bundle.js', () => swaggerUiFile('swagger-ui-bundle.js', JAVASCRIPT)],
    ['/docs/swagger-ui.css', () => swaggerUiFile('swagger-ui.css', 'text/css; charset=utf-8')],
  ])

  return withPages(handler, pages)

  async function openApiJson({ headers }: ApiRequest): Promise<Page> {
    const baseUrl = `${originOf(headers)}${handler.basePath}` || '/'
    const document = await openApiDocument({ ...options, baseUrl })
    return { text: JSON.stringify(document, null, 2), headers: PUBLIC }
  }
}

/** Where the package is; undefined when it is not installed. */
function swaggerUi(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  } catch {
    return undefined
  }
}

async function swaggerUiFile(name: string, type: string): Promise<Page> {
  try {
    return { type, text: await readFile(join(swaggerUi() ?? '', name), 'utf8'), headers: PUBLIC }
  } catch {
    return NOT_INSTALLED
  }
}

/** Empty where the caller does not say, or says no host: then the address is relative. */
function originOf(headers: ApiRequest['headers']): string {
  const host = headers['host'] ?? ''
  if (!/^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i.test(host)) return ''
  return `${headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${host}`
}

/** All of it is public, and a description is also read by pages of other origins. */
const PUBLIC = { 'Cache-Control': 'no-cache', 'Access-Control-Allow-Origin': '*' }

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

/** Swagger UI writes styles into its elements, and has its pictures in its style sheet. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

const HEAD = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Animal Adoption Store</title>
<link rel="icon" href="data:,">
`

const PAGE: Page = {
  type: HTML,
  text: `${HEAD}<link rel="stylesheet" href="docs/swagger-ui.css">
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
`,
}

/**
 * The validator would be a service elsewhere. An answer that is laid out as JSON has its numbers
 * rounded, so one with a number too long for that is shown as it came.
 */
const START: Page = {
  type: JAVASCRIPT,
  headers: PUBLIC,
  text: `const exactNumbers = ({ React }) => ({
  wrapComponents: {
    responseBody: Body => props =>
      React.createElement(
        Body,
        /\\d{16}/.test(props.content) ? { ...props, contentType: 'text/plain' } : props,
      ),
  },
})

SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#docs',
  validatorUrl: 'none',
  tryItOutEnabled: true,
  plugins: [exactNumbers],
})
`,
}

const NOT_INSTALLED: Page = {
  status: 404,
  type: HTML,
  headers: PUBLIC,
  text: `${HEAD}<h1>Animal Adoption Store</h1>
<p>The API is described in <a href="openapi.json">openapi.json</a>.</p>
<p>To read it here and to try it out, install the renderer and start the server again:</p>
<pre>npm install swagger-ui-dist</pre>
`,
}
