import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ApiHandler, ApiRequest, ApiResponse } from '../src/api.js'
import { type Awaitable, chain } from '../src/awaitable.js'
import { utf8Length } from '../src/utf8.js'
import type { OpenApiOptions } from './openapi/document.js'
import { checkOpenApiOptions, openApiDocument } from './openapi/openapi.js'

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
  const files = new Map<string, (request: ApiRequest) => Awaitable<File>>([
    ['/openapi.json', openApiJson],
    ['/docs', () => (swaggerUi() ? { ...PAGE, policy } : NOT_INSTALLED)],
    ['/docs/start.js', () => START],
    ['/docs/swagger-ui-bundle.js', () => swaggerUiFile('swagger-ui-bundle.js', JAVASCRIPT)],
    ['/docs/swagger-ui.css', () => swaggerUiFile('swagger-ui.css', 'text/css; charset=utf-8')],
  ])

  return {
    ...handler,
    handle(request) {
      const isRead = request.method === 'GET' || request.method === 'HEAD'
      const file = isRead ? files.get(request.path) : undefined
      if (!file) return handler.handle(request)
      return chain(file(request), file => answer(request, file))
    },
  }

  async function openApiJson({ headers }: ApiRequest): Promise<File> {
    const baseUrl = `${originOf(headers)}${handler.basePath}` || '/'
    const document = await openApiDocument({ ...options, baseUrl })
    return { type: 'application/json', text: JSON.stringify(document, null, 2) }
  }
}

interface File {
  /** @default 200 */
  readonly status?: number
  readonly type: string
  readonly text: string
  /** What the page may load, and from where. */
  readonly policy?: string
}

/** Where the package is; undefined when it is not installed. */
function swaggerUi(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  } catch {
    return undefined
  }
}

async function swaggerUiFile(name: string, type: string): Promise<File> {
  try {
    return { type, text: await readFile(join(swaggerUi() ?? '', name), 'utf8') }
  } catch {
    return NOT_INSTALLED
  }
}

function answer({ method }: ApiRequest, file: File): ApiResponse {
  const { status = 200, type, text, policy } = file
  const headers = {
    'Content-Type': type,
    'Content-Length': String(utf8Length(text)),
    'Cache-Control': 'no-cache',
    // All of it is public, and a description is also read by pages of others.
    'Access-Control-Allow-Origin': '*',
    ...(policy === undefined ? {} : { 'Content-Security-Policy': policy }),
  }
  return { status, headers, body: method === 'HEAD' ? '' : text, about: {} }
}

/** Empty where the caller does not say, or says no host: then the address is relative. */
function originOf(headers: ApiRequest['headers']): string {
  const host = headers['host'] ?? ''
  if (!/^[\w.-]+(:\d+)?$|^\[[\da-f:.]+\](:\d+)?$/i.test(host)) return ''
  return `${headers['x-forwarded-proto'] === 'https' ? 'https' : 'http'}://${host}`
}

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

const PAGE: File = {
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
const START: File = {
  type: JAVASCRIPT,
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

const NOT_INSTALLED: File = {
  status: 404,
  type: HTML,
  text: `${HEAD}<h1>Animal Adoption Store</h1>
<p>The API is described in <a href="openapi.json">openapi.json</a>.</p>
<p>To read it here and to try it out, install the renderer and start the server again:</p>
<pre>npm install swagger-ui-dist</pre>
`,
}
