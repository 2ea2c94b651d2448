import { remember } from '../log/bounded-log.js'
import { type CreateWatch, isLost, type Rule, reasonIn, type Seen } from './rule.js'

export const REFUSED_CREATES = {
  id: 'create.refused',
  fix: 'Correct the create, and check for 201: a fetch does not fail for a 4xx. JSON needs Content-Type: application/json.',
  violatedBy: 'a last create that got 400 or 415, so that nothing was stored; always a note',
} as const satisfies Rule

export const CREATES = {
  id: 'create.repeated',
  fix: 'Send each create with an Idempotency-Key, retry it with the same key, and start the store with --idempotency (the option `idempotency`).',
  flag: '--idempotency',
  violatedBy:
    "a create whose response a fault lost, or replaced by an error once it was stored (`when: 'after'`), sent again without its `Idempotency-Key` and stored twice; always a note, as somebody may want two equal animals",
  fromOutside:
    'always a note; where no response came at all, the first create may not have been stored',
} as const satisfies Rule

export const watchCreates: CreateWatch = () => {
  const lost = new Map<string, Seen>()
  let refused: Seen | undefined

  return {
    see(exchange) {
      const { operation, status, fault, requestDigest, requestHeaders } = exchange
      if (operation === 'createPet' && !isLost(exchange)) {
        refused = status === 400 || status === 415 ? exchange : undefined
      }
      const id = storedId(exchange)
      // Seen from outside, a service may have stored a create without a response.
      const isUnknown = operation === 'createPet' && status === null && fault === 'reset'
      if (id === undefined && !isUnknown) return []
      const earlier = lost.get(requestDigest)
      if (isLost(exchange) || exchange.location) remember(lost, requestDigest, exchange)
      else lost.delete(requestDigest)
      const earlierId = earlier && storedId(earlier)
      if (!earlier || isUnknown || earlierId === id) return []
      // A client is not to blame for a store that ignores keys.
      const key = requestHeaders['idempotency-key']
      if (key !== undefined && key === earlier.requestHeaders['idempotency-key']) return []
      const stored =
        earlierId === undefined
          ? `it is stored as ${id}, and may have been before`
          : `it is stored as ${earlierId} and ${id}`
      const what = earlier.location ? 'answered with an error' : 'whose response was lost'
      const seen = `a create ${what} was sent again: ${stored}`
      return [{ rule: 'create.repeated', seen, exchanges: [earlier, exchange], isLikely: true }]
    },
    open() {
      if (!refused) return []
      const seen = `the last create got ${refused.status}${reasonIn(refused)}`
      return [{ rule: 'create.refused', seen, exchanges: [refused], isLikely: true }]
    },
  }
}

/** The id in Location; undefined unless an animal was stored, now or earlier. */
function storedId({ operation, status, headers, location }: Seen): string | undefined {
  if (operation !== 'createPet') return undefined
  const stored = status === 201 ? headers['location'] : location
  return /\/(\d+)$/.exec(stored ?? '')?.[1]
}
