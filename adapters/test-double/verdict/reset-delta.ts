import type { Exchange } from '../exchange.js'
import { isUsedUp } from './early-calls.js'
import type { Breach } from './rules.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE

/**
 * Pauses as long as Reset is after 1970, taken for seconds or for ms: nobody waits so by chance.
 */
export function deltaWaits(exchanges: readonly Exchange[]): readonly Breach[] {
  return exchanges.slice(1).flatMap((next, at) => {
    const told = exchanges[at] as Exchange
    if (!isUsedUp(told) || told.answeredAt === null) return []
    const reset = Number(told.headers['X-RateLimit-Reset'])
    const waited = next.at - told.answeredAt
    const inSeconds = Math.abs(waited - reset * SECOND) <= MINUTE
    const inMs = Math.abs(waited - reset) <= SECOND
    if (!inSeconds && !inMs) return []
    const days = Math.round(waited / DAY)
    return { seen: `a silence of ${days} days after Reset ${reset}`, exchanges: [told, next] }
  })
}
