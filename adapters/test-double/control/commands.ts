import {
  ApiError,
  invalidRequest,
  methodNotAllowed,
  notFound,
  toApiError,
  unsupportedMediaType,
} from '../../../src/api-error.js'
import type { Awaitable } from '../../../src/lib/async.js'
import {
  check,
  type Declared,
  isBoolean,
  isObject,
  isSecretObject,
  isString,
  OptionError,
  type OptionsOf,
  optional,
  rule,
  type SettingsOf,
  settingsOf,
} from '../../../src/lib/check-options.js'
import { toJson } from '../../../src/lib/json.js'
import { durationOf, type Instant, instantOf } from '../../../src/lib/time.js'
import type { NewPet } from '../../../src/pets/schema.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import type { ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { readBody } from '../../../src/protocol/body.js'
import { NOT_SHARED, toAnswer, toErrorAnswer } from '../../http/extra-pages.js'
import { hasToken } from '../../http/token.js'
import { withBodyRead } from '../../verdict/log/read-request.js'
import { reportText } from '../../verdict/report.js'
import { isScale } from '../clock/clock.js'
import type { JudgedDouble, ReportOptions } from '../double.js'
import type { ExchangeFilter } from '../exchange-filter.js'
import type { Fault } from '../faults/fault.js'
import type { Snapshot } from '../snapshot.js'
import type { WorldOptions, Worlds } from './worlds.js'

const ANYTHING = rule<string | undefined>('anything', () => true)

export interface Command {
  readonly request: ApiRequest
  readonly double: JudgedDouble
  readonly maxBodyBytes: number
  readonly token: string
  /** Undefined within a world: worlds are not nested. */
  readonly worlds: Worlds | undefined
}

/** Runs a command. Never rejects: every failure is an Error body. */
export async function command(target: string, given: Command): Promise<ApiResponse> {
  const { request, maxBodyBytes, token } = given
  try {
    const [first = '', ...rest] = target.split('/')
    if (!hasToken(request, token, first))
      throw new ApiError('invalid_request', 'Send the token: /_control/<token>/…', { status: 403 })
    const path = first === token ? rest.join('/') : target
    if (request.refusal) throw request.refusal
    const [, name = path, id = ''] = /^([^/]+)\/([^/]+)$/.exec(path) ?? []
    const methods = COMMANDS.get(id === '' ? name : `${name}/<id>`)
    if (!methods)
      throw notFound(`Unknown command; expected one of ${[...COMMANDS.keys()].join(', ')}.`)
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!run) throw methodNotAllowed(request.method, Object.keys(methods).join(', '))
    const sent =
      method === 'GET'
        ? Object.fromEntries(new URLSearchParams(request.query))
        : await readValue(request, maxBodyBytes)
    const isCreated = method === 'POST' && CREATING.includes(name)
    return respond(request.method, await run({ ...given, sent, id }), isCreated ? 201 : 200)
  } catch (thrown) {
    const wrong = thrown instanceof OptionError || thrown instanceof RangeError
    const error = wrong ? invalidRequest(thrown.message) : toApiError(thrown)
    return toErrorAnswer(request.method, error)
  }
}

/** In browsers, a form cannot send `application/json` without a preflight. */
async function readValue(request: ApiRequest, maxBodyBytes: number): Promise<unknown> {
  if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType(
      'Commands require Content-Type: application/json, even without a body.',
    )
  }
  const read = await withBodyRead(request)
  const { body = '', headers } = read
  // A body that was announced as too large has not been read, but is not missing.
  const none = body.length === 0 && !(Number(headers['content-length']) > 0)
  return none ? undefined : readBody(read, maxBodyBytes)
}

interface Call extends Command {
  /** The parameters of a GET, else the body. */
  readonly sent: unknown
  /** The rest of the path, as in `worlds/<id>`. */
  readonly id: string
}

type Run = (call: Call) => Awaitable<unknown>

const COMMANDS = new Map<string, Readonly<Record<string, Run>>>([
  ['health', { GET: () => ({ status: 'ok', pid: process.pid }) }],
  ['clock', { GET: readClock, POST: changeClock }],
  ['reset', { POST: reset }],
  ['digest', { GET: readDigest }],
  ['snapshot', { GET: takeSnapshot, PUT: restore }],
  ['pets', { POST: ({ double, sent }) => double.seed(sent as NewPet[]) }],
  ['keys', { POST: addKey }],
  ['requests', { GET: listRequests, DELETE: ({ double }) => double.clearRequests() }],
  [
    'faults',
    {
      GET: ({ double }) => ({ faults: double.faults.list() }),
      POST: ({ double, sent }) => double.faults.arm(sent as Fault),
      DELETE: clearFaults,
    },
  ],
  ['report', { GET: report }],
  ['worlds', { POST: createWorld }],
  ['worlds/<id>', { DELETE: disposeWorld }],
])

const CREATING = ['pets', 'keys', 'faults', 'worlds']

function readClock({ double: { clock } }: Call) {
  const { now, ...settings } = clock.dump()
  return { now, iso: new Date(now).toISOString(), ...settings }
}

const CLOCK_RULES = {
  ...named('set', 'advance'),
  frozen: optional(isBoolean),
  scale: optional(isScale),
  auto: optional(isBoolean),
}

function changeClock(call: Call) {
  const { clock } = call.double
  const given = fields(call, CLOCK_RULES)
  const { set, advance, frozen, scale, auto } = given
  if (Object.values(given).every(value => value === undefined)) {
    const expected = `one of ${Object.keys(CLOCK_RULES).join(', ')}`
    throw new OptionError({ option: 'clock', expected, got: 'none' })
  }
  if (scale !== undefined && frozen === true) {
    throw invalidRequest('`scale` cannot be combined with `frozen: true`; send one of them.')
  }
  const instant = set === undefined ? clock() : instantOf('set', set)
  const duration = advance === undefined ? 0 : durationOf('advance', advance)
  clock.set(instantOf('now', instant + duration))
  if (frozen === true) clock.freeze()
  if (frozen === false || scale !== undefined) clock.resume({ scale })
  if (auto !== undefined) clock.auto = auto
  return readClock(call)
}

function reset(call: Call) {
  call.double.reset()
  return readDigest(call)
}

async function readDigest({ double }: Call) {
  return { digest: await double.digest() }
}

async function takeSnapshot(call: Call) {
  const { name } = fields(call, named('name'))
  return { ...(name !== undefined && { name }), ...(await call.double.snapshot()) }
}

async function restore(call: Call) {
  await call.double.restore(call.sent as Snapshot)
  return readDigest(call)
}

function addKey(call: Call) {
  const rules = { apiKey: isString, ...named('id', 'plan', 'limits', 'expiresAt') }
  const { apiKey, ...record } = fields(call, rules)
  call.double.addKey(apiKey, record as unknown as ApiKey)
  return { id: record.id, plan: record.plan }
}

function listRequests(call: Call) {
  const { double } = call
  const { status, since, until, ...filter } = fields(
    call,
    named('keyId', 'operation', 'method', 'path', 'status', 'since', 'until'),
  )
  const requests = double.requests({
    ...(filter as ExchangeFilter),
    status: status === undefined ? undefined : Number(status),
    since: instantIn(since),
    until: instantIn(until),
  })
  return { requests, dropped: double.dropped }
}

function instantIn(text: string | undefined): Instant | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : text
}

function report(call: Call) {
  const found = call.double.report(fields(call, named('since')) as ReportOptions)
  const asText = call.request.headers['accept']?.startsWith('text/plain')
  return asText ? reportText(found) : found
}

function clearFaults({ double, sent }: Call): void {
  check('fault', sent, optional(isObject))
  double.faults.clear(sent as Fault | undefined)
}

function createWorld({ worlds, request, token, sent = {} }: Call) {
  if (!worlds) throw notFound('Worlds cannot be nested.')
  const rules = { ...named('pets', 'time'), apiKeys: optional(isSecretObject) }
  const given = fields({ sent }, rules) as WorldOptions
  return worlds.create({ origin: `http://${request.headers['host']}`, token }, given)
}

function disposeWorld({ worlds, id }: Call): void {
  if (!worlds?.dispose(id)) throw notFound(`Unknown world '${id}'.`)
}

function named<const N extends string>(...names: readonly N[]) {
  const rules = names.map(name => [name, ANYTHING])
  return Object.fromEntries(rules) as Record<N, typeof ANYTHING>
}

/** Refuses unknown fields: a misspelled filter would match everything. */
function fields<D extends Declared>({ sent }: Pick<Call, 'sent'>, rules: D): SettingsOf<D> {
  if (isObject.accepts(sent)) return settingsOf<D>(rules, { ...(sent as OptionsOf<D>) })
  throw invalidRequest(`Send a JSON object with ${Object.keys(rules).join(', ')}.`)
}

/** Omits CORS headers, so that pages of other origins cannot read the response. */
function respond(method: string, value: unknown, status: number): ApiResponse {
  if (value === undefined) return toAnswer(method, { status: 204, text: '', headers: NOT_SHARED })
  const isText = typeof value === 'string'
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json'
  const text = isText ? value : toJson(value)
  return toAnswer(method, { status, type, text, headers: NOT_SHARED })
}
