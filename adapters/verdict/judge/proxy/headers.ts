/** Alternating names and values, as in Node's `rawHeaders`. */
export type RawHeaders = readonly string[]

/**
 * RFC 9110 §7.6.1: fields that concern one connection only are not forwarded. `Transfer-Encoding`
 * is kept for requests, whose body Node frames accordingly.
 */
export function withoutHopByHop(raw: RawHeaders, kept?: string): string[] {
  const options = pairsOf(raw)
    .filter(([name]) => /^connection$/i.test(name))
    .flatMap(([, value]) => value.toLowerCase().split(/[\s,]+/))
  const isHop = (name: string) =>
    HOP_BY_HOP.test(name) || (options.includes(name) && !OF_MESSAGE.test(name))
  return pairsOf(raw)
    .filter(([name]) => name.toLowerCase() === kept || !isHop(name.toLowerCase()))
    .flat()
}

const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-connection|proxy-authorization|te|transfer-encoding|upgrade)$/

/** Fields that no option of a connection removes. */
const OF_MESSAGE = /^(content-length|transfer-encoding|host|authorization)$/

export function withHost(raw: RawHeaders, host: string): string[] {
  return raw.map((text, at) => (at % 2 === 1 && /^host$/i.test(raw[at - 1] ?? '') ? host : text))
}

export function pairsOf(raw: RawHeaders): [name: string, value: string][] {
  return raw.flatMap((name, at) =>
    at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as [string, string]] : [],
  )
}
