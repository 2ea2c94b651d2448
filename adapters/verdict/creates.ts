import { isLost, remember, type Seen, type Watch } from './rules.js'

/** Creates whose response was lost, and which a client sends again as if nothing had been stored. */
export function watchCreates(): Watch {
  const lost = new Map<string, Seen>()

  return {
    see(exchange) {
      const { requestDigest, idempotencyKey } = exchange
      const id = storedId(exchange)
      if (id === undefined) return []
      const earlier = lost.get(requestDigest)
      if (isLost(exchange)) remember(lost, requestDigest, exchange)
      else lost.delete(requestDigest)
      const earlierId = earlier && storedId(earlier)
      if (!earlier || earlierId === id) return []
      // A client is not to blame for a store that ignores keys.
      if (idempotencyKey !== null && idempotencyKey === earlier.idempotencyKey) return []
      const seen = `a create whose response was lost was sent again: it is stored as ${earlierId} and ${id}`
      // Somebody may want two equal animals.
      return [{ rule: 'create.repeated', seen, exchanges: [earlier, exchange], isLikely: true }]
    },
    open: () => [],
  }
}

/** The id in Location; undefined unless an animal was stored, now or earlier. */
function storedId({ operation, status, headers }: Seen): string | undefined {
  if (operation !== 'createPet' || status !== 201) return undefined
  return /\/(\d+)$/.exec(headers['location'] ?? '')?.[1]
}
