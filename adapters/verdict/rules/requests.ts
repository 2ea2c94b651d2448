import { DAY, MINUTE, SECOND } from '../../../src/limits/windows-and-bans.js'
import {
  type CreateWatch,
  isExhausted,
  type Rule,
  resetOf,
  type Seen,
  type Violation,
} from './rule.js'

/** Rules that a request breaks by itself, or by its distance from the one before. */
export const REQUEST_RULES = [
  {
    id: 'reset.as-delta',
    fix: 'X-RateLimit-Reset is a Unix time in seconds: wait until then, not for that long.',
    violatedBy: 'a pause as long as X-RateLimit-Reset is after 1970',
  },
  {
    id: 'deprecated.called',
    fix: 'GET /pets/{petId} is removed on 5 December 2030: use GET /pets with a status filter.',
    violatedBy: 'a call of getPet',
  },
  {
    id: 'key.refused',
    fix: 'Send a valid key with every request: Authorization: Bearer <API_KEY>. Some clients send Basic instead if ~/.netrc names the host.',
    violatedBy: 'a missing or invalid API key',
    fromOutside: 'a note for a key that the service had accepted: it may have been revoked',
  },
  {
    id: 'name.unknown',
    fix: 'Remove or correct the name: the service ignores names that it does not know.',
    violatedBy: 'a query parameter or body field that the specification does not have',
  },
  {
    id: 'integer.rounded',
    fix: 'Keep categoryId in a 64-bit integer, such as a bigint: a double rounds it beyond 2^53.',
    violatedBy:
      'a create with an integer beyond 2^53 that is exactly what a double prints; always a note, as it may be right',
  },
  {
    id: 'name.halved',
    fix: 'Cut names by characters, not by UTF-16 units: [...name].slice(0, 1).',
    violatedBy:
      'a create whose name has half a surrogate pair, with which many languages cannot read the list; always a note',
  },
  {
    id: 'idempotency.ignored',
    fix: 'Start the store with --idempotency (the option `idempotency`): without it, a repeated create is stored twice.',
    flag: '--idempotency',
    violatedBy: 'a create with an `Idempotency-Key` that the store ignores; always a note',
    fromOutside: 'never: nobody knows whether the service ignores it',
  },
  {
    id: 'preflight.refused',
    fix: 'Have the store answer preflights: `cors: true`, or no --no-cors.',
    violatedBy: 'a CORS preflight, to which no browser adds an API key; always a note',
  },
] as const satisfies readonly Rule[]

export const watchKnown: CreateWatch = () => {
  let last: Seen | undefined
  return {
    see(exchange) {
      const before = last
      last = exchange
      return [
        ...resetAsDelta(before, exchange),
        ...deprecatedCall(exchange),
        ...unknownNames(exchange),
        ...roundedInteger(exchange),
        ...halvedName(exchange),
        ...ignoredKey(exchange),
        ...revokedKey(exchange),
      ]
    },
    open: () => [],
  }
}

export const watchStrangers: CreateWatch = () => ({ see: refusedCredential, open: () => [] })

/**
 * A pause as long as Reset is after 1970, in seconds or in ms: no client waits that long by chance.
 */
function resetAsDelta(exhausted: Seen | undefined, next: Seen): readonly Violation[] {
  if (!exhausted || !isExhausted(exhausted) || exhausted.answeredAt === null) return []
  const resetMs = resetOf(exhausted)
  if (resetMs === undefined) return []
  const reset = resetMs / SECOND
  const waited = next.at - exhausted.answeredAt
  const inSeconds = Math.abs(waited - resetMs) <= MINUTE
  const inMs = Math.abs(waited - reset) <= SECOND
  if (!inSeconds && !inMs) return []
  const seen = `a pause of ${Math.round(waited / DAY)} days after Reset ${reset}`
  return [{ rule: 'reset.as-delta', seen, exchanges: [exhausted, next] }]
}

function deprecatedCall(exchange: Seen): readonly Violation[] {
  if (exchange.operation !== 'getPet') return []
  return one('deprecated.called', 'getPet, which is deprecated, was called', exchange)
}

function unknownNames(exchange: Seen): readonly Violation[] {
  const { unknown } = exchange
  if (unknown.length === 0) return []
  const names = unknown.slice(0, 5).map(name => `\`${name.slice(0, 80)}\``)
  const were = unknown.length > 5 ? 'and others were' : 'was'
  return one('name.unknown', `${names.join(', ')} ${were} sent`, exchange)
}

function roundedInteger(exchange: Seen): readonly Violation[] {
  if (exchange.rounded === null) return []
  const seen = `a create sent categoryId ${exchange.rounded}, as a double prints it`
  return one('integer.rounded', seen, exchange, true)
}

function halvedName(exchange: Seen): readonly Violation[] {
  if (!exchange.isHalved) return []
  return one('name.halved', 'a name has half a character', exchange, true)
}

function ignoredKey(exchange: Seen): readonly Violation[] {
  if (!exchange.isKeyIgnored || exchange.operation !== 'createPet') return []
  const seen = 'Idempotency-Key was sent, and this store ignores it'
  return one('idempotency.ignored', seen, exchange, true)
}

/** Seen from outside, a key can stop being valid. */
function revokedKey(exchange: Seen): readonly Violation[] {
  if (exchange.status !== 401 || exchange.fault === 'status') return []
  return one('key.refused', 'an API key that had been accepted was refused', exchange, true)
}

/** RFC 6750 §3.1: only a request that carried a credential gets an error code. */
function refusedCredential(exchange: Seen): readonly Violation[] {
  const { status, message, headers, isPreflight } = exchange
  if (isPreflight && (status ?? 0) >= 400) {
    return one('preflight.refused', `a preflight was refused with ${status}`, exchange, true)
  }
  if (status !== 401) return []
  const isWrong = headers['www-authenticate']?.includes('error=')
  const slip = message === null ? '' : `: "${message.slice(0, 100)}"`
  const seen = isWrong ? 'the API key was invalid' : `no API key was read${slip}`
  return one('key.refused', seen, exchange)
}

function one(rule: string, seen: string, exchange: Seen, isLikely = false): readonly Violation[] {
  return [{ rule, seen, exchanges: [exchange], isLikely }]
}
