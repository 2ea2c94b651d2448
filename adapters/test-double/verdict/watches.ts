import { DAY, MINUTE, SECOND } from '../../../src/rate-limit.js'
import { watchBackoff, watchRefusals } from './attempts.js'
import { watchEarly } from './early.js'
import type { Breach, RuleId, Seen, Watch } from './rules.js'
import { isExhausted } from './waits.js'

/** For requests with a valid key. */
export const KEY_WATCHES: readonly (() => Watch)[] = [
  watchEarly,
  watchResetAsDelta,
  watchBackoff,
  watchRefusals,
  () => each('deprecated.called', deprecatedCall),
  () => each('name.unknown', unknownNames),
]

/** For requests without one. */
export const STRANGER_WATCHES: readonly (() => Watch)[] = [
  () => each('key.refused', refusedCredential),
]

/** A rule that a single exchange breaks. */
function each(rule: RuleId, seen: (exchange: Seen) => string | undefined): Watch {
  return {
    see(exchange) {
      const text = seen(exchange)
      return text === undefined ? [] : [{ rule, seen: text, exchanges: [exchange] }]
    },
    open: () => [],
  }
}

function deprecatedCall({ operation }: Seen): string | undefined {
  return operation === 'getPet' ? 'getPet, which is deprecated, was called' : undefined
}

function unknownNames({ unknown }: Seen): string | undefined {
  if (unknown.length === 0) return undefined
  const names = unknown.slice(0, 5).map(name => `\`${name.slice(0, 80)}\``)
  return `${names.join(', ')} ${unknown.length > 5 ? 'and others were' : 'was'} sent`
}

/** RFC 6750 §3.1: only a request that carried a credential gets an error code. */
function refusedCredential({ status, headers }: Seen): string | undefined {
  if (status !== 401) return undefined
  const isWrong = headers['www-authenticate']?.includes('error=')
  return isWrong ? 'the API key was invalid' : 'there was no API key'
}

/**
 * A pause as long as Reset is after 1970, in seconds or in ms: no client waits that long by chance.
 */
function watchResetAsDelta(): Watch {
  let last: Seen | undefined

  return {
    see(exchange) {
      const exhausted = last
      last = exchange
      if (!exhausted || !isExhausted(exhausted) || exhausted.answeredAt === null) return []
      const reset = Number(exhausted.headers['x-ratelimit-reset'])
      const waited = exchange.at - exhausted.answeredAt
      const inSeconds = Math.abs(waited - reset * SECOND) <= MINUTE
      const inMs = Math.abs(waited - reset) <= SECOND
      return inSeconds || inMs ? [breach(exhausted, exchange, reset, waited)] : []
    },
    open: () => [],
  }
}

function breach(exhausted: Seen, next: Seen, reset: number, waited: number): Breach {
  const seen = `a pause of ${Math.round(waited / DAY)} days after Reset ${reset}`
  return { rule: 'reset.as-delta', seen, exchanges: [exhausted, next] }
}
