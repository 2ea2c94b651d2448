import type { ShownRequest } from './curl.js'
import { REDACTED } from './redact.js'

/** JavaScript that sends the same request with `fetch`. The key is in `ADOPTION_STORE_API_KEY`. */
export function fetchCodeOf(request: ShownRequest, origin: string): string {
  const { method, target, headers } = request
  const body = bodyOf(request)
  const cannotSend = body !== undefined && (method === 'GET' || method === 'HEAD')
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${inJavaScript(method)},`]),
    ...objectOf(headers, 'headers: {', '}', (name, value) => {
      const key = /^[a-z]+$/.test(name) ? name : inJavaScript(name)
      const scheme = schemeOf(name, value)
      if (scheme === undefined) return `${key}: ${inJavaScript(value)},`
      return `${key}: \`${scheme}\${process.env.ADOPTION_STORE_API_KEY}\`,`
    }),
    ...(body === undefined || cannotSend ? [] : [`  body: ${javaScriptBody(body)},`]),
  ]
  const url = inJavaScript(origin + target)
  return [
    ...(cannotSend ? [`// fetch cannot send a body with ${method}; the original has one.`] : []),
    options.length === 0
      ? `const response = await fetch(${url})`
      : [`const response = await fetch(${url}, {`, ...options, '})'].join('\n'),
    'console.log(response.status, await response.text())',
  ].join('\n')
}

/** `fetch` writes these itself, from the address and the body. */
const OWN_HEADERS = ['host', 'content-length', 'connection', 'transfer-encoding', 'expect']

function objectOf(
  headers: ShownRequest['headers'],
  begin: string,
  end: string,
  lineOf: (name: string, value: string) => string,
): readonly string[] {
  const lines = Object.entries(headers)
    .filter(([name]) => !OWN_HEADERS.includes(name))
    .map(([name, value]) => `    ${lineOf(name, value)}`)
  return lines.length === 0 ? [] : [`  ${begin}`, ...lines, `  ${end},`]
}

/** What precedes a credential that is not shown: `Bearer `. */
function schemeOf(name: string, value: string): string | undefined {
  return name === 'authorization' && value.endsWith(REDACTED)
    ? value.slice(0, -REDACTED.length)
    : undefined
}

/** Text where it is UTF-8; undefined without one. */
function bodyOf({ body }: ShownRequest): string | Uint8Array | undefined {
  if (body.length === 0) return undefined
  if (typeof body === 'string') return body
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return body
  }
}

function javaScriptBody(body: string | Uint8Array): string {
  return typeof body === 'string' ? inJavaScript(body) : `Uint8Array.of(${[...body].join(', ')})`
}

function inJavaScript(text: string): string {
  const inner = escaped(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${inner}'`
}

/** Characters that hide or reorder others on a screen are written as escapes, too. */
function escaped(text: string): string {
  return JSON.stringify(text).replace(
    /[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu,
    // The two languages write those beyond the BMP differently.
    character =>
      character.length > 1
        ? character
        : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
