import type { ApiRequest } from '../../../src/protocol/api-request.js'
import type { Exchange } from '../log/exchange.js'

const MOST_NAMES = 1_000

/** Numbers credentials without showing them, because only the service knows the ids of its keys. */
export function createCredentials() {
  const names = new Map<string, string>()
  const accepted = new Set<string>()

  return {
    /** Returns `1`, `2`, `3` … in order of first use; undefined without a credential. */
    nameOf({ headers }: Pick<ApiRequest, 'headers'>): string | undefined {
      const { authorization = '' } = headers
      if (authorization === '') return undefined
      const token = authorization.replace(/^bearer +/i, '')
      const name = names.get(token) ?? (names.size < MOST_NAMES ? `${names.size + 1}` : 'others')
      if (name !== 'others') names.set(token, name)
      return name
    },
    /** The name, or null for a credential that the service refuses, and has never accepted. */
    judged({ keyId, status }: Exchange): string | null {
      if (keyId === null) return keyId
      if (status === 401) return accepted.has(keyId) ? keyId : null
      // Only the API itself accepts a key, not a proxy before it, and a 429 comes before a 401.
      const isAccepted = status !== null && status >= 200 && status < 500 && status !== 429
      if (isAccepted) accepted.add(keyId)
      return keyId
    },
  }
}
