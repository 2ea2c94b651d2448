import { hideSecrets } from '../exchanges/hide-secrets.js'
import type { Credential, Credentials } from './check.js'
import type { ReadOptions } from './options.js'

/** What requests present, and the function that keeps all of it out of reports. */
export function createCredentials({ apiKey, spareKey }: ReadOptions): {
  readonly credentials: Credentials
  redact(text: string): string
} {
  // A server may echo any of them.
  const secrets = new Map([[apiKey, '<key>']])
  if (spareKey !== undefined) secrets.set(spareKey, '<spare key>')
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
        secrets.set(text, '<credential>')
        secrets.set(text.replace(/^\S*\s+/, ''), '<credential>')
        return { label, authorization: text, budget: isValid ? 'key' : 'no key' }
      },
    },
    redact: text => hideSecrets(text, [...secrets.keys()], secret => secrets.get(secret) as string),
  }
}

function bearer(label: string, key: string, budget: Credential['budget']): Credential {
  return { label, authorization: `Bearer ${key}`, budget }
}
