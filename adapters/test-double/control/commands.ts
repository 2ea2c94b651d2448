import {
  ApiError,
  invalidRequest,
  methodNotAllowed,
  notFound,
  toApiError,
  unsupportedMediaType,
} from '../../../src/errors.js'
import type { Awaitable } from '../../../src/lib/async.js'
import { toJson } from '../../../src/lib/json.js'
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
  type Rule,
  type SettingsOf,
  settingsOf,
} from '../../../src/lib/options.js'
import { type Duration, durationOf, type Instant, instantOf } from '../../../src/lib/time.js'
import type { NewPet } from '../../../src/pets/schema.js'
import type { ApiRequest, ApiResponse } from '../../../src/protocol/api.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import { readBody } from '../../../src/protocol/body.js'
import { withBodyRead } from '../../exchanges/read-request.js'
import { toAnswer } from '../../http/pages.js'
import { hasToken } from '../../http/token.js'
import { reportText } from '../../verdict/report.js'
import { isScale } from '../clock/clock.js'
import type { JudgedDouble, ReportOptions } from '../double.js'
import type { Fault } from '../faults/fault.js'
import type { ExchangeFilter } from '../filter.js'
import type { Snapshot } from '../snapshot.js'
import type { WorldOptions, Worlds } from './worlds.js'

const ANYTHING: Rule = { expected: 'anything', accepts: () => true }

/** A request for a command, and what it applies to. */
export interface Command {
  readonly request: ApiRequest
  readonly double: JudgedDouble
  readonly maxBodyBytes: number
  /** Whoever knows it may send commands. */
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
    const [, name = path, id] = /^([^/]+)\/([^/]+)$/.exec(path) ?? []
    const methods = ROUTES.get(id === undefined ? name : `${name}/<id>`)
    if (!methods)
      throw notFound(`Unknown command; expected one of ${[...ROUTES.keys()].join(', ')}.`)
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!run) throw methodNotAllowed(request.method, Object.keys(methods).join(', '))
    const body = method === 'GET' ? undefined : await readValue(request, maxBodyBytes)
    return respond(request.method, await run({ ...given, body, id: id ?? '' }))
  } catch (thrown) {
    const wrong = thrown instanceof OptionError || thrown instanceof RangeError
    return failure(request.method, wrong ? invalidRequest(thrown.message) : toApiError(thrown))
  }
}

/** A form in a browser cannot send `application/json` without a preflight. */
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

/** A command whose body has been read; a GET has no body. */
interface Call extends Command {
  readonly body: unknown
  /** What follows the command's name, as in `worlds/<id>`. */
  readonly id: string
}

type Run = (call: Call) => Awaitable<Reply>

/** Every command of the tree. */
const ROUTES = new Map<string, Readonly<Record<string, Run>>>([
  ['health', { GET: () => ok({ status: 'ok', pid: process.pid }) }],
  ['clock', { GET: readClock, POST: changeClock }],
  ['reset', { POST: reset }],
  ['digest', { GET: readDigest }],
  ['snapshot', { GET: takeSnapshot, PUT: restore }],
  ['pets', { POST: async ({ double, body }) => made(await double.seed(body as NewPet[])) }],
  ['keys', { POST: addKey }],
  ['requests', { GET: listRequests, DELETE: clearRequests }],
  [
    'faults',
    {
      GET: ({ double }) => ok({ faults: double.faults.list() }),
      POST: ({ double, body }) => made(double.faults.arm(body as Fault)),
      DELETE: clearFaults,
    },
  ],
  ['report', { GET: report }],
  ['worlds', { POST: createWorld }],
  ['worlds/<id>', { DELETE: disposeWorld }],
])

function readClock({ double: { clock } }: Call): Reply {
  const { now, ...settings } = clock.dump()
  return ok({ now, iso: new Date(now).toISOString(), ...settings })
}

const CLOCK_RULES = {
  set: optional(ANYTHING as Rule<Instant>),
  advance: optional(ANYTHING as Rule<Duration>),
  frozen: optional(isBoolean),
  scale: optional(isScale),
  auto: optional(isBoolean),
}

function changeClock(call: Call): Reply {
  const { clock } = call.double
  const given = fields(call.body, CLOCK_RULES)
  const { set, advance, frozen, scale, auto } = given
  if (Object.values(given).every(value => value === undefined)) {
    const expected = `one of ${Object.keys(CLOCK_RULES).join(', ')}`
    throw new OptionError({ option: 'clock', expected, got: 'none' })
  }
  if (scale !== undefined && frozen === true) {
    throw invalidRequest('`scale` cannot be combined with `frozen: true`; send one of them.')
  }
  // Everything is checked before anything changes.
  const instant = set === undefined ? clock.now() : instantOf('set', set)
  const duration = advance === undefined ? 0 : durationOf('advance', advance)
  clock.set(instantOf('now', instant + duration))
  if (frozen === true) clock.freeze()
  if (frozen === false || scale !== undefined) clock.resume({ scale })
  if (auto !== undefined) clock.auto = auto
  return readClock(call)
}

function reset(call: Call): Promise<Reply> {
  call.double.reset()
  return readDigest(call)
}

async function readDigest({ double }: Call): Promise<Reply> {
  return ok({ digest: await double.digest() })
}

async function takeSnapshot({ double, request }: Call): Promise<Reply> {
  const { name } = parameters(request, 'name')
  const snapshot = await double.snapshot()
  return ok(name === undefined ? snapshot : { name, ...snapshot })
}

async function restore(call: Call): Promise<Reply> {
  await call.double.restore(call.body as Snapshot)
  return readDigest(call)
}

function addKey({ double, body }: Call): Reply {
  const { key, ...record } = fields(body, {
    key: isString,
    id: ANYTHING,
    plan: ANYTHING,
    limits: ANYTHING,
  })
  double.addKey(key, record as unknown as ApiKey)
  return made({ id: record.id, plan: record.plan })
}

function listRequests({ double, request }: Call): Reply {
  const { status, since, until, ...filter } = parameters(
    request,
    'key',
    'operation',
    'method',
    'path',
    'status',
    'since',
    'until',
  )
  const requests = double.requests({
    ...(filter as ExchangeFilter),
    status: status === undefined ? undefined : Number(status),
    since: instantIn(since),
    until: instantIn(until),
  })
  return ok({ requests, dropped: double.dropped })
}

function instantIn(text: string | undefined): Instant | undefined {
  return text !== undefined && /^-?\d+$/.test(text) ? Number(text) : text
}

function clearRequests({ double }: Call): Reply {
  double.clearRequests()
  return NOTHING
}

function clearFaults({ double, body }: Call): Reply {
  if (body !== undefined) check('fault', body, isObject)
  double.faults.clear(body as Fault | undefined)
  return NOTHING
}

function report({ double, request }: Call): Reply {
  const { since } = parameters(request, 'since') as ReportOptions
  const found = double.report({ since })
  const asText = request.headers['accept']?.startsWith('text/plain')
  return asText ? { status: 200, text: reportText(found) } : ok(found)
}

async function createWorld({ worlds, request, token, body = {} }: Call): Promise<Reply> {
  if (!worlds) throw notFound('Worlds cannot be nested.')
  const given = fields(body, {
    pets: ANYTHING,
    keys: optional(isSecretObject),
    clock: ANYTHING,
  }) as WorldOptions
  return made(await worlds.create({ origin: `http://${request.headers['host']}`, token }, given))
}

function disposeWorld({ worlds, id }: Call): Reply {
  if (!worlds?.dispose(id)) throw notFound(`Unknown world '${id}'.`)
  return NOTHING
}

function ok(value: unknown): Reply {
  return { status: 200, value }
}

function made(value: unknown): Reply {
  return { status: 201, value }
}

const NOTHING: Reply = { status: 204 }

/** The named fields only. */
function fields<D extends Declared>(body: unknown, rules: D): SettingsOf<D> {
  if (isObject.accepts(body)) return settingsOf<D>(rules, { ...(body as OptionsOf<D>) })
  throw invalidRequest(`Send a JSON object with ${Object.keys(rules).join(', ')}.`)
}

/** The named parameters only: a misspelled filter would match everything. */
function parameters({ query }: ApiRequest, ...names: readonly string[]) {
  const rules = Object.fromEntries(names.map(name => [name, ANYTHING]))
  const given = Object.fromEntries(new URLSearchParams(query))
  return settingsOf<Declared>(rules, given) as Partial<Record<string, string>>
}

/** The response to a command: a value as JSON, a text, or nothing. */
interface Reply {
  readonly status: number
  readonly value?: unknown
  readonly text?: string
}

/** Without CORS headers, so that pages of other origins cannot read it. */
function respond(method: string, { status, value, text }: Reply): ApiResponse {
  if (text !== undefined)
    return toAnswer(method, { status, type: 'text/plain; charset=utf-8', text })
  return toAnswer(method, { status, text: value === undefined ? '' : toJson(value) })
}

export function failure(method: string, { code, message, status, headers }: ApiError): ApiResponse {
  return toAnswer(method, { status, text: toJson({ code, message, status }), headers })
}
