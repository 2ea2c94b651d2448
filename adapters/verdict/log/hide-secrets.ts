/** Shorter secrets would also match parts of innocent words. */
export const SHORTEST_SECRET = 8

export type Hide = ReturnType<typeof hiderOf>

/** Indexes secrets, so that a search takes time in proportion to the text only. */
export function hiderOf(secrets: Iterable<string>) {
  const known = new Set(secrets)
  known.delete('')
  /** By first character, in descending order. */
  const lengths = new Map<number, number[]>()
  for (const secret of [...known].sort((a, b) => b.length - a.length)) {
    const first = secret.charCodeAt(0)
    const longer = lengths.get(first) ?? []
    if (longer.at(-1) !== secret.length) lengths.set(first, [...longer, secret.length])
  }

  /** Replaces secrets, including those percent-encoded or with JSON escapes. */
  return (text: string, labelOf: (secret: string) => string): string => {
    if (known.size === 0) return text
    const found = secretsIn(text)
    const { plain, starts } = unescaped(text)
    if (plain === text) return replaced(text, found, labelOf)
    const escaped = secretsIn(plain).map(({ secret, from, to }) => ({
      secret,
      from: starts[from] as number,
      to: starts[to] as number,
    }))
    return replaced(text, [...found, ...escaped], labelOf)
  }

  /** Finds the longest secret at each place; they may overlap. */
  function secretsIn(text: string): readonly Found[] {
    const found: Found[] = []
    for (let from = 0; from < text.length; from++) {
      for (const length of lengths.get(text.charCodeAt(from)) ?? []) {
        const secret = text.slice(from, from + length)
        if (!known.has(secret)) continue
        found.push({ secret, from, to: from + secret.length })
        break
      }
    }
    return found
  }
}

interface Found {
  readonly secret: string
  readonly from: number
  readonly to: number
}

const ESCAPE = /%([0-9a-f]{2})|\\u00([0-9a-f]{2})|\\(["/\\])/gi

/** Resolves every escape, and maps each character to its start in the original. */
function unescaped(text: string): { readonly plain: string; readonly starts: readonly number[] } {
  if (!text.includes('%') && !text.includes('\\')) return { plain: text, starts: [] }
  const starts: number[] = []
  let plain = ''
  let end = 0
  const keep = (to: number) => {
    plain += text.slice(end, to)
    while (end < to) starts.push(end++)
  }
  for (const { 0: written, index, 1: percent, 2: unicode, 3: literal } of text.matchAll(ESCAPE)) {
    keep(index)
    const code = percent ?? unicode
    plain += code === undefined ? literal : String.fromCharCode(Number.parseInt(code, 16))
    starts.push(index)
    end = index + written.length
  }
  keep(text.length)
  return { plain, starts: [...starts, text.length] }
}

/** Replaces overlapping secrets as one, labelled by the first. */
function replaced(
  text: string,
  found: readonly Found[],
  labelOf: (secret: string) => string,
): string {
  let shown = ''
  let end = 0
  let hiddenTo = 0
  for (const { secret, from, to } of [...found].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (from >= hiddenTo) shown += text.slice(end, from) + labelOf(secret)
    hiddenTo = Math.max(hiddenTo, to)
    end = hiddenTo
  }
  return shown + text.slice(end)
}
