import { type PlainRequest, utf8Text } from './copy-as-curl.js'
import { REDACTED } from './redact.js'

/** Writes JavaScript that sends the same request. The key is in `ADOPTION_STORE_API_KEY`. */
export function fetchCodeOf(request: PlainRequest, origin: string): string {
  const { method, target, headers, body } = request
  const url = inJavaScript(origin + target)
  const canSend = method !== 'GET' && method !== 'HEAD'
  const fields = Object.entries(headers).filter(([name]) => !OWN_HEADERS.includes(name))
  const options = [
    ...(method === 'GET' ? [] : [`  method: ${inJavaScript(method)},`]),
    ...(fields.length === 0 ? [] : ['  headers: {', ...fields.map(headerLine), '  },']),
    ...(body.length === 0 || !canSend ? [] : [`  body: ${bodyInJavaScript(body)},`]),
  ]
  return [
    ...(body.length > 0 && !canSend ? [`// fetch cannot send the body with ${method}.`] : []),
    ...(options.length === 0
      ? [`const response = await fetch(${url})`]
      : [`const response = await fetch(${url}, {`, ...options, '})']),
    'console.log(response.status, await response.text())',
  ].join('\n')
}

/** Headers that `fetch` derives from the address and the body. */
const OWN_HEADERS = ['host', 'content-length', 'connection', 'transfer-encoding', 'expect']

function headerLine([name, value]: [string, string]): string {
  const key = /^[a-z]+$/.test(name) ? name : inJavaScript(name)
  if (name !== 'authorization' || !value.endsWith(REDACTED)) {
    return `    ${key}: ${inJavaScript(value)},`
  }
  const scheme = value.slice(0, -REDACTED.length)
  return `    ${key}: \`${scheme}\${process.env.ADOPTION_STORE_API_KEY}\`,`
}

function bodyInJavaScript(body: Uint8Array | string): string {
  const text = typeof body === 'string' ? body : utf8Text(body)
  return text === undefined ? `Uint8Array.of(${[...body].join(', ')})` : inJavaScript(text)
}

/** Escapes characters that hide or reorder others on a screen. */
function inJavaScript(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  const escaped = inner.replace(
    /[\p{Cf}\p{Zl}\p{Zp}\x7f-\x9f]/gu,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
  return `'${escaped}'`
}
