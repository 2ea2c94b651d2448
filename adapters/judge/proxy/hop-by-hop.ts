/** Names and values in turn, as Node has them in `rawHeaders`. */
export type RawHeaders = readonly string[]

/**
 * RFC 9110 §7.6.1: what concerns one connection only is not forwarded. `Transfer-Encoding` is kept
 * for requests, where Node frames the body as it says.
 */
export function withoutHopByHop(raw: RawHeaders, kept: readonly string[] = []): string[] {
  const named = new Set(HOP_BY_HOP.filter(name => !kept.includes(name)))
  for (let at = 0; at < raw.length; at += 2) {
    if (!/^connection$/i.test(raw[at] ?? '')) continue
    // What delimits the message is not an option of the connection (RFC 9110 §7.6.1).
    for (const option of (raw[at + 1] ?? '').toLowerCase().split(/[\s,]+/)) {
      if (!MESSAGE.includes(option)) named.add(option)
    }
  }
  return filtered(raw, name => !named.has(name))
}

const HOP_BY_HOP: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
]
const MESSAGE: readonly string[] = ['content-length', 'transfer-encoding', 'host', 'authorization']

/** The same headers, with another value of `Host` in its place. */
export function withHost(raw: RawHeaders, host: string): string[] {
  return raw.map((text, at) => (at % 2 === 1 && /^host$/i.test(raw[at - 1] ?? '') ? host : text))
}

/** By names in lower case, with repeated ones joined. */
export function joined(raw: RawHeaders): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? '').toLowerCase()
    const value = raw[at + 1] ?? ''
    const before = Object.hasOwn(headers, name) ? headers[name] : undefined
    headers[name] = before === undefined ? value : `${before}, ${value}`
  }
  return headers
}

/** Trailers as Node takes them. */
export function pairsOf(raw: RawHeaders): [string, string][] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : [],
  )
}

function filtered(raw: RawHeaders, isKept: (name: string) => boolean): string[] {
  return raw.filter((_, at) => isKept((raw[at - (at % 2)] ?? '').toLowerCase()))
}
