import { type NewPet, type Policy, SUNSET } from '../../../src/index.js'
import type { WireRequest, WireResponse } from '../network.js'
import type { Limits } from '../scenario.js'
import { ensure, Violation } from '../violation.js'
import { createKeyModel, type SavedKeys } from './keys.js'
import { createLimitModel, type LimitModel, type Told } from './limits.js'
import { createPetHistory, type PetHistory, type SeenPet } from './pet-history.js'
import { jsonOf, textOf } from './pets.js'

export interface ApiModelOptions {
  readonly anonymous: Policy
  readonly pagination: boolean
  readonly cors: boolean
  readonly defaultStatus: 'available' | null
  readonly idempotencyMs: number | null
  /** How often that has had a reason to fail; a 503 needs one. */
  readonly failures: (what: 'create' | 'read') => number
  readonly note: (what: string) => void
}

/** What the server must answer, and what it has answered. */
export interface ApiModel {
  readonly history: PetHistory
  readonly limits: LimitModel
  /** The keys that are valid now. */
  readonly keys: Map<string, KeyRecord>
  /** An animal that some client will send. */
  register(pet: NewPet): void
  /** What it is stored as; undefined for a name that nobody sends. */
  textOf(name: string): string | undefined
  /** The ids that creates of an animal were answered with. */
  answered(name: string): ReadonlySet<number>
  /**
   * A request has arrived.
   *
   * @param now the clock of the server
   */
  expect(request: WireRequest, now: number): Expectation
  /** What is under way will never end: the process is dead. */
  crash(): void
  /** The process has ended, and with it what it counted. */
  forgetLimits(): void
  /** Some of what was counted is gone. */
  forgetWindows(): void
  /** The idempotency keys that are surely in use, with their animals. */
  usedKeys(): ReadonlyMap<string, number>
  saveKeys(): SavedKeys
  replaceKeys(saved: SavedKeys): void
}

/** What one request is answered with. */
export interface Expectation {
  /**
   * The limiter decides, with the counts of this moment.
   *
   * @param by who counts, by default the limits of the model
   */
  decided(by?: Counter): void
  check(response: WireResponse): void
}

export interface Counter {
  readonly limits: Pick<LimitModel, 'ask'>
  /** Whose counts these are, where there are several; undefined if nobody counts all responses. */
  readonly name: string | undefined
}

export interface KeyRecord {
  readonly id: string
  readonly policy: Limits
  readonly expires?: number | undefined
}

interface Call {
  readonly request: WireRequest
  readonly now: number
  readonly key: KeyRecord | undefined
  readonly failures: { readonly create: number; readonly read: number }
}

export function createApiModel(options: ApiModelOptions): ApiModel {
  const { anonymous, pagination, cors, defaultStatus, idempotencyMs, failures, note } = options
  const history = createPetHistory()
  const limits = createLimitModel()
  const keys = new Map<string, KeyRecord>()
  const animals = new Map<string, string>()
  const answers = new Map<string, Set<number>>()
  const admitted = createWindows()
  const used = createKeyModel(idempotencyMs ?? 0, () => note('key is free again'))
  /** How often the disk had failed when a create last succeeded. */
  let failuresBefore = 0

  return {
    history,
    limits,
    keys,
    register(pet) {
      const status = pet.status ?? defaultStatus ?? undefined
      const { name, categoryId } = pet
      animals.set(name, textOf(status === undefined ? { name, categoryId } : { ...pet, status }))
    },
    textOf: name => animals.get(name),
    answered: name => answers.get(name) ?? new Set(),
    expect(request, now) {
      const token = /^Bearer (.+)$/.exec(request.headers['authorization'] ?? '')?.[1]
      const known = token === undefined ? undefined : keys.get(token)
      const key = known?.expires !== undefined && now >= known.expires ? undefined : known
      const policy = key?.policy ?? anonymous
      const partition = key?.id ?? `addr:${request.address}`
      const before = { create: failures('create'), read: failures('read') }
      let told: Told | undefined
      let counter: string | undefined
      let checkBody: ((response: WireResponse) => void) | undefined
      return {
        decided(by = { limits, name: '' }) {
          if (isPreflight(request)) return
          told = by.limits.ask(partition, policy, now)
          counter = by.name
          const call = { request, now, key, failures: before }
          checkBody = told.code ? undefined : expectAnswer(call)
        },
        check(response) {
          const expected = headersFor(request, response, told, now)
          checkHeaders(response, expected)
          if (isPreflight(request)) {
            ensure(!told, 'limits.exact', () => 'a preflight was counted')
            return ensureStatus(response, 204)
          }
          if (!told) throw new Violation('limits.exact', 'a request was answered without counting')
          if (response.status !== 429 && counter !== undefined) {
            admitted.add(`${partition}${counter}`, policy, now)
          }
          if (checkBody) checkBody(response)
          else {
            checkRejection(response, told)
            note(`${told.code}`)
          }
        },
      }
    },
    crash() {
      history.crash()
      used.crash()
    },
    forgetLimits() {
      limits.forget()
      admitted.clear()
    },
    forgetWindows: admitted.clear,
    usedKeys: used.inUse,
    saveKeys: used.save,
    replaceKeys: used.replace,
  }

  function isPreflight({ method, headers }: WireRequest): boolean {
    return cors && method === 'OPTIONS' && headers['origin'] !== undefined
  }

  /** All of them, but what the answer itself decides: length, Location, Link to a page, replays. */
  function headersFor(
    request: WireRequest,
    { status, headers, body }: WireResponse,
    told: Told | undefined,
    now: number,
  ): Headers {
    const { method, target } = request
    const isPet = /^\/v1\/pets\/[^/?]+(\?|$)/.test(target) && /^(GET|HEAD)$/.test(method)
    const isCollection = /^\/v1\/pets(\?|$)/.test(target)
    const length = method === 'HEAD' ? headers['content-length'] : String(Buffer.byteLength(body))
    return {
      date: new Date(Math.floor(now / 1000) * 1000).toUTCString(),
      ...(told && {
        'x-ratelimit-limit': told.limit,
        'x-ratelimit-remaining': told.remaining,
        'x-ratelimit-reset': told.reset,
      }),
      ...(status !== 204 && {
        'content-type': 'application/json',
        'content-length': length,
        'x-content-type-options': 'nosniff',
      }),
      ...(status === 204 && {
        'access-control-allow-methods': 'GET, HEAD, POST',
        'access-control-allow-headers': 'Authorization, *',
        'access-control-max-age': '86400',
      }),
      ...(cors && { 'access-control-allow-origin': '*', vary: 'Origin' }),
      ...(cors &&
        request.headers['origin'] !== undefined && {
          'access-control-expose-headers': headers['access-control-expose-headers'],
        }),
      ...(isPet && {
        sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
        link: '</v1/pets>; rel="successor-version"',
      }),
      ...(told?.code && { 'retry-after': told.retryAfter, 'cache-control': 'no-store' }),
      ...(status === 503 && { 'retry-after': headers['retry-after'] }),
      ...(status === 401 && { 'www-authenticate': challengeOf(request) }),
      ...(status === 405 && { allow: isCollection ? 'GET, HEAD, POST' : 'GET, HEAD' }),
      ...(status === 201 && { location: `/v1/pets/${JSON.parse(body).id}` }),
      ...(status === 201 &&
        headers['idempotent-replayed'] !== undefined && { 'idempotent-replayed': 'true' }),
      ...(isCollection && pagination && status === 200 && { link: headers['link'] }),
    }
  }

  function expectAnswer(call: Call): (response: WireResponse) => void {
    const { request, key } = call
    const { method, target } = request
    const [path = '', query = ''] = target.split('?')
    if (method === 'HEAD') return expectHead(call, path)
    if (!key) return errorOf(401, 'unauthorized')
    if (path === '/v1/pets' && method === 'GET') return expectList(call, query)
    if (path === '/v1/pets' && method === 'POST') return expectCreate(call, key)
    const id = /^\/v1\/pets\/([^/]+)$/.exec(path)?.[1]
    if (id !== undefined && method === 'GET') return expectPet(call, id)
    const isPath = id !== undefined || path === '/v1/pets'
    return isPath ? errorOf(405, 'method_not_allowed') : errorOf(404, 'not_found')
  }

  /** The status of GET, without its body. */
  function expectHead({ key, now }: Call, path: string): (response: WireResponse) => void {
    return ({ status, body }) => {
      const isPet = path.startsWith('/v1/pets/')
      const statuses = !key ? [401] : !isPet ? [200, 503] : now >= SUNSET ? [410] : [200, 404, 503]
      ensure(
        body === '' && statuses.includes(status),
        'response.true',
        () => `HEAD is answered with ${status} ${body}`,
      )
      note('HEAD')
    }
  }

  function expectList(call: Call, query: string): (response: WireResponse) => void {
    const given = new URLSearchParams(query)
    const limit = given.get('limit') ?? '20'
    const status = given.get('status') ?? undefined
    const isValid = /^\d+$/.test(limit) && Number(limit) >= 1 && Number(limit) <= 100
    const isStatus = status === undefined || ['available', 'pending', 'sold'].includes(status)
    if (!isValid || !isStatus) return errorOf(400, 'invalid_request')
    const after = pagination ? Number(given.get('after') ?? 0) : 0
    const operation = history.read()
    return response => {
      if (response.status === 503) return checkUnavailable(response, 'read', call.failures.read)
      ensureStatus(response, 200)
      const pets = readPets(response.body)
      ensure(
        response.body === `[${pets.map(jsonOf).join(',')}]`,
        'animals.kept',
        () => `the list ${response.body.slice(0, 500)} is not that of ${call.request.target}`,
      )
      operation.listed({ limit: Number(limit), status, after }, pets)
      if (pagination) checkNext(response, { limit: Number(limit), status }, pets)
      note('list')
    }
  }

  /** Whether there is a next page depends on creates meanwhile, but not on a page that is not full. */
  function checkNext(
    { headers }: WireResponse,
    { limit, status }: { readonly limit: number; readonly status: string | undefined },
    pets: readonly SeenPet[],
  ): void {
    const { link } = headers
    const filter = status === undefined ? '' : `&status=${status}`
    const next = `</v1/pets?limit=${limit}${filter}&after=${pets.at(-1)?.id}>; rel="next"`
    const isRight = link === undefined || (link === next && pets.length === limit)
    ensure(isRight, 'response.true', () => `Link is ${link} after ${pets.length} of ${limit}`)
  }

  function expectPet(
    { now, failures: before }: Call,
    text: string,
  ): (response: WireResponse) => void {
    if (now >= SUNSET) return errorOf(410, 'gone')
    const id = Number(text)
    if (!/^[1-9]\d{0,15}$/.test(text)) return errorOf(404, 'not_found')
    const operation = history.read()
    return response => {
      if (response.status === 503) return checkUnavailable(response, 'read', before.read)
      if (response.status === 404) {
        operation.got(id, undefined)
        return
      }
      ensureStatus(response, 200)
      const [pet] = readPets(`[${response.body}]`)
      ensure(
        pet !== undefined && response.body === jsonOf(pet),
        'animals.kept',
        () => `animal ${id} is ${response.body.slice(0, 500)}`,
      )
      operation.got(id, pet)
      note('get')
    }
  }

  function expectCreate(call: Call, key: KeyRecord): (response: WireResponse) => void {
    const { request, now } = call
    const name = nameIn(request.body)
    const text = name === undefined ? undefined : animals.get(name)
    if (request.isCut) {
      return ({ status }) =>
        ensure(status >= 400, 'response.true', () => `half a body was answered with ${status}`)
    }
    if ((request.body ?? '').length > MAX_BODY_BYTES) return errorOf(413, 'payload_too_large')
    if (name === undefined || text === undefined) return errorOf(400, 'invalid_request')
    const given = request.headers['idempotency-key']?.replaceAll('"', '')
    const isNamed = idempotencyMs !== null && given !== undefined
    const use = isNamed ? used.use(`${key.id} ${given}`, name, now) : undefined
    const operation = history.create(name, text, use?.most)
    return response => {
      if (use && response.status === 422) {
        errorOf(422, 'idempotency_key_reused')(response)
        operation.refused()
        use.reused()
        note('422')
        return
      }
      if (response.status === 503) {
        operation.refused()
        use?.refused()
        checkUnavailable(response, 'create', Math.min(call.failures.create, failuresBefore))
        return
      }
      ensureStatus(response, 201)
      const [pet] = readPets(`[${response.body}]`)
      if (!pet) throw new Error('A created animal without a body')
      const replayed = response.headers['idempotent-replayed'] === 'true'
      const { body } = response
      ensure(
        (use !== undefined || !replayed) && body === jsonOf(pet),
        'response.true',
        () => `created ${body.slice(0, 500)}${replayed ? ' again' : ''}`,
      )
      operation.stored(pet, replayed)
      answers.set(name, (answers.get(name) ?? new Set()).add(pet.id))
      if (!replayed) failuresBefore = failures('create')
      if (replayed) use?.replayed(pet.id)
      else use?.stored(pet.id)
      note(replayed ? 'replay' : 'create')
    }
  }

  function checkUnavailable({ body }: WireResponse, what: 'create' | 'read', before: number): void {
    const message = () => `503 while nothing fails: ${body}`
    ensure(failures(what) > before, 'storage.available', message)
    note('503')
  }

  function readPets(body: string): SeenPet[] {
    const values = JSON.parse(body) as { id: number; name: string; status?: string }[]
    return values.map(({ id, name, status }) => ({
      id,
      name,
      status,
      text: animals.get(name) ?? `unknown ${name}`,
    }))
  }
}

function nameIn(body: string | undefined): string | undefined {
  try {
    return (JSON.parse(body ?? '') as { name?: string }).name
  } catch {
    return undefined
  }
}

/** In bytes (`maxBodyBytes`). Such bodies are ASCII. */
const MAX_BODY_BYTES = 1_048_576

/** How many requests each window admits, counted from the responses alone. */
function createWindows() {
  const counts = new Map<string, number>()
  let latest = Number.NEGATIVE_INFINITY

  return {
    /** The counts begin again: the process ended, or its clock went back. */
    clear: () => counts.clear(),
    add(partition: string, { perMinute, perDay }: Policy, now: number): void {
      if (now < latest || Math.floor(now / 60_000) > Math.floor(latest / 60_000)) {
        for (const name of counts.keys()) if (name.includes('minute')) counts.delete(name)
      }
      if (now < latest || Math.floor(now / 86_400_000) > Math.floor(latest / 86_400_000)) {
        counts.clear()
      }
      latest = now
      check(`minute of ${partition}`, perMinute)
      check(`day of ${partition}`, perDay)
    },
  }

  function check(window: string, limit: number): void {
    const count = (counts.get(window) ?? 0) + 1
    counts.set(window, count)
    ensure(count <= limit, 'limits.window', () => `${count} in one ${window}, limit ${limit}`)
  }
}

type Headers = Readonly<Record<string, string | undefined>>

/** What belongs to limits has an invariant of its own. */
function checkHeaders({ headers }: WireResponse, expected: Headers): void {
  for (const name of new Set([...Object.keys(headers), ...Object.keys(expected)])) {
    ensure(
      headers[name] === expected[name],
      /ratelimit|retry-after|cache-control/.test(name) ? 'limits.exact' : 'response.true',
      () => `${name} is ${headers[name]}, not ${expected[name]}`,
    )
  }
}

function checkRejection(response: WireResponse, { code }: Told): void {
  const { status, body } = response
  ensure(
    status === 429 && (body === '' || codeIn(body) === code),
    'limits.exact',
    () => `${status} ${body} instead of 429 ${code}`,
  )
}

/** RFC 6750 §3: no error code for a request without a bearer token. */
function challengeOf({ headers }: WireRequest): string {
  const hasToken = /^Bearer /.test(headers['authorization'] ?? '')
  return `Bearer realm="animal-adoption-store"${hasToken ? ', error="invalid_token"' : ''}`
}

function errorOf(status: number, code: string): (response: WireResponse) => void {
  return response => {
    ensureStatus(response, status)
    const found = codeIn(response.body)
    ensure(found === code, 'response.true', () => `the code of ${status} is ${found}, not ${code}`)
  }
}

function codeIn(body: string): string | undefined {
  return (JSON.parse(body) as { code?: string }).code
}

function ensureStatus({ status, body }: WireResponse, expected: number): void {
  ensure(
    status === expected,
    'response.true',
    () => `${status} instead of ${expected}: ${body.slice(0, 300)}`,
  )
}
