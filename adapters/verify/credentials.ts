import { createSecrets, type Secrets, SHORTEST_SECRET } from '../exchanges/hide-secrets.js'
import type { Credential, Credentials } from './check.js'
import type { ReadOptions } from './options.js'

/** What requests present, and the function that keeps all of it out of reports. */
export function createCredentials({ apiKey, spareKey }: ReadOptions): {
  readonly credentials: Credentials
  redact(text: string): string
} {
  // A server may echo any of them, and Basic carries them in base64.
  const labels = new Map<string, string>()
  let secrets: Secrets | undefined
  const hide = (secret: string, label: string) => {
    for (const spelling of [secret, ...inBase64(secret)]) labels.set(spelling, label)
    secrets = undefined
  }
  hide(apiKey, '<key>')
  if (spareKey !== undefined) hide(spareKey, '<spare key>')
  const unknown = 'verify-unknown-key'

  return {
    credentials: {
      valid: bearer('with the key', apiKey, 'key'),
      none: { label: 'without a key', authorization: undefined, budget: 'no key' },
      unknown: bearer('with an unknown key', unknown, 'no key'),
      spare:
        spareKey === undefined ? undefined : bearer('with the spare key', spareKey, 'spare key'),
      altered(label, authorization, isValid = false): Credential {
        const text = authorization(apiKey)
        hide(text, '<credential>')
        hide(text.replace(/^\S*\s+/, ''), '<credential>')
        return { label, authorization: text, budget: isValid ? 'key' : 'no key' }
      },
      foreign: (label, authorization) => ({ label, authorization, budget: 'no key' }),
    },
    redact(text) {
      secrets ??= createSecrets(labels.keys())
      return secrets.hide(text, secret => labels.get(secret) as string)
    },
  }
}

/**
 * The characters that stand for a text in base64 and base64url wherever it begins: of the groups of
 * three bytes, those that hold nothing else.
 */
function inBase64(text: string): readonly string[] {
  const spellings = ['', ' ', '  '].map(before => {
    const encoded = btoa(before + text).replace(/=+$/, '')
    const isWhole = (before.length + text.length) % 3 === 0
    return encoded.slice(Math.ceil((before.length * 4) / 3), isWhole ? undefined : -1)
  })
  return spellings
    .flatMap(spelling => [spelling, spelling.replaceAll('+', '-').replaceAll('/', '_')])
    .filter(spelling => spelling.length >= SHORTEST_SECRET)
}

function bearer(label: string, key: string, budget: Credential['budget']): Credential {
  return { label, authorization: `Bearer ${key}`, budget }
}
