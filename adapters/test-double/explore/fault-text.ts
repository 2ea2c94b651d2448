import { nearestFirst } from '../../../src/lib/nearest.js'
import { check, isObject, isText, OptionError } from '../../../src/lib/options.js'
import { durationOf } from '../../../src/lib/time.js'
import type { Fault, FaultScope } from '../faults/fault.js'
import { checkFault as checkFields } from '../faults/rules.js'

/**
 * Reads the text form of a fault: its kind, what it needs after a colon, `-after` for a status that
 * comes once the operation has run, and any other fields as JSON.
 *
 * `reset` · `delay:31s` · `status:503` · `status:503-after` · `status:503{"retryAfter":2}`
 *
 * @param name where the text comes from, for messages
 * @param scope which fields may say where it applies
 * @throws OptionError
 */
export function parseFault(name: string, text: string, scope: Scope = ANY_REQUEST): Fault {
  const { kind, argument, json } = /^(?<kind>\w*)(?::(?<argument>[^{]*))?(?<json>\{.*)?$/s.exec(
    text,
  )?.groups ?? { kind: text }
  const reader = READERS.get(kind ?? '')
  if (!reader) throw wrong(name, `one of ${nearestFirst(text, EXAMPLES).join(', ')}`, text)
  const fields = json === undefined ? {} : readFields(name, text, json)
  return checkFault(name, { kind, ...reader(name, argument, text), ...fields } as Fault, scope)
}

/** The text form of a fault, without its scope. */
export function faultText(fault: Fault): string {
  const { kind, ...rest } = fault
  const fields: Record<string, unknown> = { ...rest }
  for (const name of SCOPE) delete fields[name]
  return `${kind}${WRITERS.get(kind)?.(fields) ?? fieldsText(fields)}`
}

/** @throws OptionError naming the text and the field */
export function checkFault(name: string, fault: Fault, scope: Scope = ANY_REQUEST): Fault {
  check(name, fault, isObject)
  for (const field of [...SCOPE, 'jitter', 'real']) {
    if (!(field in fault) || (scope as readonly string[]).includes(field)) continue
    const expected = `without \`${field}\`: it comes to one request at a time, and what it does is certain`
    throw new OptionError({ option: name, expected, got: `one with \`${field}\`` })
  }
  try {
    checkFields(fault, isText)
    return fault
  } catch (error) {
    const { expected, got, message } = error as OptionError
    throw new OptionError({ option: name, expected, got }, `Invalid \`${name}\`: ${message}`)
  }
}

type Scope = readonly (keyof FaultScope)[]

/** Which requests may get a fault that is explored. */
const ANY_REQUEST: Scope = ['operation', 'key']

/** All that says where a fault applies. */
const SCOPE: Scope = [
  'operation',
  'key',
  'requestHeaders',
  'from',
  'until',
  'nth',
  'chance',
  'seed',
  'times',
]

const EXAMPLES = [
  'reset',
  'truncate',
  'malformed',
  'hang',
  'delay:31s',
  'trickle:16b/1s',
  'status:429',
  'status:503',
  'status:503-after',
]

/** Seconds: the least that the service sends with a 429 (spec §8 has every 429 carry Retry-After). */
const LEAST_RETRY_AFTER = 1

type Reader = (name: string, argument: string | undefined, text: string) => object

const READERS = new Map<string, Reader>([
  ['status', readStatus],
  ['delay', readDelay],
  ['trickle', readTrickle],
  ...['reset', 'truncate', 'malformed', 'hang'].map(kind => [kind, readNothing] as const),
])

function readStatus(name: string, argument: string | undefined, text: string): object {
  const [, code, after] = /^(\d{3})(-after)?$/.exec(argument ?? '') ?? []
  if (code === undefined) {
    throw wrong(name, 'status:<400 to 599>, such as status:503 or status:503-after', text)
  }
  return {
    status: Number(code),
    ...(after && { when: 'after' }),
    ...(code === '429' && { retryAfter: LEAST_RETRY_AFTER }),
  }
}

function readDelay(name: string, argument: string | undefined, text: string): object {
  try {
    return { ms: durationOf(name, argument ?? '') }
  } catch {
    throw wrong(name, 'delay:<duration>, such as delay:500ms, delay:31s or delay:2m', text)
  }
}

function readTrickle(name: string, argument: string | undefined, text: string): object {
  const [, bytes, pause = ''] = /^(\d+)b\/(.*)$/.exec(argument ?? '') ?? []
  try {
    return { bytes: Number(bytes ?? Number.NaN), ms: durationOf(name, pause) }
  } catch {
    throw wrong(name, 'trickle:<bytes>b/<duration>, such as trickle:16b/1s', text)
  }
}

function readNothing(name: string, argument: string | undefined, text: string): object {
  if (argument === undefined) return {}
  throw wrong(name, `${text.slice(0, text.indexOf(':'))} without a value`, text)
}

function readFields(name: string, text: string, json: string): object {
  try {
    return JSON.parse(json)
  } catch {
    throw wrong(name, 'followed by fields as JSON, such as {"retryAfter":2}', text)
  }
}

const WRITERS = new Map<Fault['kind'], (fields: Record<string, unknown>) => string>([
  ['status', writeStatus],
  ['delay', ({ ms, ...others }) => `:${durationText(Number(ms))}${fieldsText(others)}`],
  [
    'trickle',
    ({ bytes, ms, ...others }) => `:${bytes}b/${durationText(Number(ms))}${fieldsText(others)}`,
  ],
])

function writeStatus({
  status,
  when,
  retryAfter = null,
  ...others
}: Record<string, unknown>): string {
  const usual = status === 429 ? LEAST_RETRY_AFTER : null
  const own = retryAfter === usual ? others : { retryAfter, ...others }
  return `:${status}${when === 'after' ? '-after' : ''}${fieldsText(own)}`
}

function fieldsText(fields: object): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : JSON.stringify(Object.fromEntries(given))
}

function durationText(ms: number): string {
  if (ms === 0 || ms % 1_000 !== 0) return `${ms}ms`
  if (ms % 60_000 !== 0) return `${ms / 1_000}s`
  return `${ms / 60_000}m`
}

function wrong(name: string, expected: string, text: string): OptionError {
  return new OptionError({ option: name, expected, got: `'${text.slice(0, 80)}'` })
}
