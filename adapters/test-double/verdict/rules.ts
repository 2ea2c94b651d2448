import type { Exchange } from '../exchange.js'
import { attempts, isConstant, isRefusal, isUntimedFailure } from './attempts.js'
import { early, isGoingOn, isRetry, isRisk, silences } from './early-calls.js'
import { deltaWaits } from './reset-delta.js'

/** What a client must not do. Its id stays the same for ever. */
export interface Rule {
  readonly id: string
  /** Whose exchanges it is about: those with a valid key, or those without. */
  readonly of: 'holder' | 'stranger'
  readonly mend: string
  /** What breaks it in the exchanges of one caller, in the order of arrival. */
  find(exchanges: readonly Exchange[]): readonly Breach[]
}

export interface Breach {
  readonly seen: string
  readonly exchanges: readonly Exchange[]
}

const HAMMERING = 5

/**
 * The graver of two readings of the same calls hides the other: one time of silence, one breach.
 */
export const RULES: readonly Rule[] = [
  {
    id: 'ban.risked',
    of: 'holder',
    mend: 'Stop at the first 429: one gate per key, closed until Retry-After is over.',
    find: exchanges =>
      silences(exchanges)
        .filter(isRisk)
        .map(silence => ({
          seen: `${silence.refused} requests were refused with 429 before ${iso(silence.until)}${
            silence.banned ? ', and the key was banned' : '; a few more ban the key'
          }`,
          exchanges: [silence.told, ...early(silence)],
        })),
  },
  {
    id: 'retry-after.early',
    of: 'holder',
    mend: 'Wait at least as long as Retry-After says, then send the request again.',
    find: exchanges =>
      silences(exchanges)
        .filter(silence => !isRisk(silence) && isRetry(silence))
        .map(({ repeated, told, until }) => ({
          seen: `${repeated.length} retries came before ${iso(until)}, the time told at ${iso(told.at)}`,
          exchanges: repeated,
        })),
  },
  {
    id: 'remaining.ignored',
    of: 'holder',
    mend: 'At X-RateLimit-Remaining 0, send nothing before X-RateLimit-Reset.',
    find: exchanges =>
      silences(exchanges)
        .filter(one => !isRisk(one) && !isRetry(one) && isGoingOn(one))
        .map(({ others, until }) => ({
          seen: `${others.length} new requests came with Remaining at 0, before ${iso(until)}`,
          exchanges: others,
        })),
  },
  {
    id: 'reset.as-delta',
    of: 'holder',
    mend: 'X-RateLimit-Reset is a Unix time in seconds: wait until then, not for so long.',
    find: exchanges => deltaWaits(exchanges),
  },
  {
    id: 'backoff.constant',
    of: 'holder',
    mend: 'Let each pause be longer than the one before (1 s, 2 s, 4 s …), with some chance in it.',
    find: exchanges =>
      attempts(exchanges, isUntimedFailure)
        .filter(isConstant)
        .map(({ exchanges: tries }) => ({
          seen: `${tries.length} attempts at one request, ${pause(tries)} ms apart each time`,
          exchanges: tries,
        })),
  },
  {
    id: 'deprecated.called',
    of: 'holder',
    mend: 'GET /pets/{petId} is removed on 5 December 2030: use GET /pets with a status filter.',
    find: exchanges =>
      together(
        exchanges.filter(({ operation }) => operation === 'getPet'),
        count => `getPet, which is deprecated, was called ${times(count)}`,
      ),
  },
  {
    id: 'key.refused',
    of: 'stranger',
    mend: 'Send a valid key with each request: Authorization: Bearer <API_KEY>.',
    find: exchanges => [
      ...together(exchanges.filter(isKeyless), n => `${times(n)} there was no API key`),
      ...together(exchanges.filter(isWrongKey), n => `${times(n)} the API key was not valid`),
    ],
  },
  {
    id: 'name.unknown',
    of: 'holder',
    mend: 'Leave it out or correct it: the service ignores names that it does not know.',
    find: exchanges =>
      together(
        exchanges.filter(({ unknown }) => unknown.length > 0),
        (count, all) => {
          const names = new Set(all.flatMap(({ unknown }) => unknown))
          return `${[...names].map(name => `\`${name}\``).join(', ')} came ${times(count)}`
        },
      ),
  },
  {
    id: 'refusal.repeated',
    of: 'holder',
    mend: 'A 4xx means that the request is wrong: correct it, do not send it again as it is.',
    find: exchanges =>
      attempts(exchanges, isRefusal)
        .filter(({ exchanges: tries }) => tries.length >= HAMMERING)
        .map(({ exchanges: tries }) => ({
          seen: `the same request was sent ${times(tries.length)} and refused with ${tries[0]?.status}`,
          exchanges: tries,
        })),
  },
]

/** RFC 6750 §3.1: only a credential that was given is told an error. */
function isKeyless({ status, headers }: Exchange): boolean {
  return status === 401 && !headers['WWW-Authenticate']?.includes('error=')
}

function isWrongKey(exchange: Exchange): boolean {
  return exchange.status === 401 && !isKeyless(exchange)
}

function together(
  exchanges: readonly Exchange[],
  describe: (count: number, exchanges: readonly Exchange[]) => string,
): readonly Breach[] {
  return exchanges.length === 0 ? [] : [{ seen: describe(exchanges.length, exchanges), exchanges }]
}

function pause([first, second]: readonly Exchange[]): number {
  return (second?.at ?? 0) - (first?.at ?? 0)
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function iso(instant: number): string {
  return new Date(instant).toISOString()
}
