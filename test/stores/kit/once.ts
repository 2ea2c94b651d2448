import type { Once } from '../../../src/ports.js'

/** An idempotency key of a caller, in use before `expiresAt`. */
export function once(idempotencyKey: string, expiresAt = 1_000): Once {
  return { scope: 'web', idempotencyKey, fingerprint: '0123456789abcdef', expiresAt }
}
