/** Alternating names and values, as in Node's `rawHeaders`. */
export type RawHeaders = readonly string[]

/**
 * RFC 9110 §7.6.1: fields that concern one connection only are not forwarded. `Transfer-Encoding`
 * is kept for requests, whose body Node frames accordingly.
 */
export function withoutHopByHop(raw: RawHeaders, kept?: string): string[] {
  const hops = new Set(HOP_BY_HOP.filter(name => name !== kept))
  for (const [name, value] of pairsOf(raw)) {
    if (name.toLowerCase() !== 'connection') continue
    for (const option of value.toLowerCase().split(/[\s,]+/)) {
      if (!OF_MESSAGE.includes(option)) hops.add(option)
    }
  }
  return pairsOf(raw)
    .filter(([name]) => !hops.has(name.toLowerCase()))
    .flat()
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

/** Fields that no option of a connection removes. */
const OF_MESSAGE: readonly string[] = [
  'content-length',
  'transfer-encoding',
  'host',
  'authorization',
]

export function withHost(raw: RawHeaders, host: string): string[] {
  return raw.map((text, at) => (at % 2 === 1 && /^host$/i.test(raw[at - 1] ?? '') ? host : text))
}

export function pairsOf(raw: RawHeaders): [name: string, value: string][] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : [],
  )
}
