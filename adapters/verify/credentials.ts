import { type Hide, hiderOf, SHORTEST_SECRET } from '../verdict/log/hide-secrets.js'

export interface Credential {
  readonly label: string
  /** The budget that requests use. */
  readonly budget: 'key' | 'spare key' | 'no key'
  /** True if made from the API key, which no report may show. */
  readonly isSecret: boolean
  authorization(keys: Keys): string | undefined
}

interface Keys {
  readonly apiKey: string
  readonly spareApiKey?: string | undefined
}

export const KEY = altered('with the key', key => `Bearer ${key}`, 'key')
export const SPARE_KEY: Credential = {
  label: 'with the spare key',
  budget: 'spare key',
  isSecret: true,
  authorization: ({ spareApiKey }) => `Bearer ${spareApiKey}`,
}
export const NO_KEY = foreign('without a key')
export const UNKNOWN = 'verify-unknown-key'
export const UNKNOWN_KEY = foreign('with an unknown key', `Bearer ${UNKNOWN}`)

export function altered(
  label: string,
  make: (key: string) => string,
  budget: Credential['budget'] = 'no key',
): Credential {
  return { label, budget, isSecret: true, authorization: ({ apiKey }) => make(apiKey) }
}

export function foreign(label: string, authorization?: string): Credential {
  return { label, budget: 'no key', isSecret: false, authorization: () => authorization }
}

export type Redaction = ReturnType<typeof createRedaction>

/** Keeps keys, and what was made from them, out of reports. */
export function createRedaction({ apiKey, spareApiKey }: Keys) {
  // A server may echo any of them, and Basic carries them in base64.
  const labels = new Map<string, string>()
  let hide: Hide | undefined
  const add = (secret: string, label: string) => {
    for (const spelling of [secret, ...inBase64(secret)]) {
      if (!labels.has(spelling)) labels.set(spelling, label)
    }
    hide = undefined
  }
  add(apiKey, '<key>')
  if (spareApiKey !== undefined) add(spareApiKey, '<spare key>')

  return {
    hide: (secret: string) => add(secret, '<credential>'),
    redact(text: string): string {
      hide ??= hiderOf(labels.keys())
      return hide(text, secret => labels.get(secret) as string)
    },
  }
}

/** The base64 and base64url characters of a text at any offset, without those it shares. */
function inBase64(text: string): readonly string[] {
  const spellings = ['', ' ', '  '].map(before => {
    const encoded = btoa(before + text).replace(/(?<!=)=+$/, '')
    const isWhole = (before.length + text.length) % 3 === 0
    return encoded.slice(Math.ceil((before.length * 4) / 3), isWhole ? undefined : -1)
  })
  return spellings
    .flatMap(spelling => [spelling, spelling.replaceAll('+', '-').replaceAll('/', '_')])
    .filter(spelling => spelling.length >= SHORTEST_SECRET)
}
