import { DAY, MINUTE, SECOND } from '../../../src/limits/windows-and-bans.js'
import { PREFLIGHT } from '../log/exchange.js'
import {
  type CreateWatch,
  isExhausted,
  type Rule,
  reasonIn,
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
    violatedBy: 'a create with an integer beyond 2^53, rounded as a float prints it; always a note',
  },
  {
    id: 'name.halved',
    fix: 'Cut names by characters, not by UTF-16 units: [...name].slice(0, 1).',
    violatedBy: 'a create with half a surrogate pair, which breaks many readers; always a note',
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

export const watchKnown: CreateWatch = ({ ignoresKeys = false }) => {
  let last: Seen | undefined
  return {
    see(exchange) {
      const before = last
      last = exchange
      return [...resetAsDelta(before, exchange), ...brokenBy(exchange, ignoresKeys)]
    },
  }
}

export const watchStrangers: CreateWatch = () => ({ see: refusedCredential })

function brokenBy(exchange: Seen, ignoresKeys: boolean): readonly Violation[] {
  const { operation, unknown, rounded, isHalved, requestHeaders, status, fault } = exchange
  const found = (rule: string, seen: string) => ({ rule, seen, exchanges: [exchange] })
  const likely = (rule: string, seen: string) => ({ ...found(rule, seen), isLikely: true })
  const hasKey = operation === 'createPet' && requestHeaders['idempotency-key'] !== undefined
  // Seen from outside, a key can stop being valid.
  const isRevoked = status === 401 && fault !== 'status'
  return [
    operation === 'getPet' && found('deprecated.called', 'getPet, which is deprecated, was called'),
    unknown.length > 0 && found('name.unknown', namesText(unknown)),
    rounded !== null &&
      likely('integer.rounded', `a create sent categoryId ${rounded}, as a double prints it`),
    isHalved && likely('name.halved', 'a name has half a character'),
    hasKey &&
      ignoresKeys &&
      likely('idempotency.ignored', 'Idempotency-Key was sent, and this store ignores it'),
    isRevoked && likely('key.refused', 'an API key that had been accepted was refused'),
  ].filter(violation => violation !== false)
}

function namesText(unknown: readonly string[]): string {
  const names = unknown.slice(0, 5).map(name => `\`${name.slice(0, 80)}\``)
  return `${names.join(', ')} ${unknown.length > 5 ? 'and others were' : 'was'} sent`
}

/** A pause as long as Reset is after 1970, in seconds or in ms: no client waits that long by chance. */
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

/** RFC 6750 §3.1: only a request that carried a credential gets an error code. */
function refusedCredential(exchange: Seen): readonly Violation[] {
  const { method, status, headers, requestHeaders } = exchange
  const exchanges = [exchange]
  const isPreflight = method === 'OPTIONS' && requestHeaders[PREFLIGHT] !== undefined
  if (isPreflight && (status ?? 0) >= 400) {
    const seen = `a preflight was refused with ${status}`
    return [{ rule: 'preflight.refused', seen, exchanges, isLikely: true }]
  }
  if (status !== 401) return []
  const isWrong = headers['www-authenticate']?.includes('error=')
  const seen = isWrong ? 'the API key was invalid' : `no API key was read${reasonIn(exchange)}`
  return [{ rule: 'key.refused', seen, exchanges }]
}
