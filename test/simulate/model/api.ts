import type { Limits, NewPet } from '../../../src/index.js'
import type { WireRequest, WireResponse } from '../network.js'
import type { StoreSetting } from '../scenario.js'
import { ensure, type Invariant } from '../violation.js'
import { createEventModel } from './events.js'
import type { Told } from './limits.js'
import type { SeenPet } from './pet-history.js'
import { jsonOf, textOf } from './pets.js'
import { type Failure, failureOf, petIdOf, queryOf, SUNSET } from './requests.js'
import { createState, type KeyRecord, keyOf } from './state.js'

export interface ApiModelOptions {
  readonly anonymous: Limits | null
  readonly options: StoreSetting
  readonly idempotencyMs: number | null
  /** Number of failures of the disk; a 503 needs a reason. */
  readonly failures: () => number
  readonly note: (what: string) => void
}

export type ApiModel = ReturnType<typeof createApiModel>

interface Call {
  readonly request: WireRequest
  readonly now: number
  readonly key: KeyRecord | undefined
  readonly failures: number
}

export function createApiModel(options: ApiModelOptions) {
  const { anonymous, idempotencyMs, failures, note } = options
  const { pagination, defaultStatus } = options.options
  const animals = new Map<string, string>()
  const answers = new Map<string, Set<number>>()
  const { announce, ensureAnnounced } = createEventModel()
  /** Failures of the disk when a create last succeeded. */
  let failuresBefore = 0

  const state = createState(idempotencyMs, () => note('key is free again'))

  return {
    state,
    /** An animal that some client will send. */
    register(pet: NewPet): void {
      const status = pet.status ?? defaultStatus ?? undefined
      const { name, categoryId } = pet
      animals.set(name, textOf(status === undefined ? { name, categoryId } : { ...pet, status }))
    },
    /** The stored form of a name; undefined for a name that nobody sends. */
    textOf: (name: string) => animals.get(name),
    /** The ids that creates of an animal were answered with. */
    answered: (name: string): ReadonlySet<number> => answers.get(name) ?? new Set(),
    /**
     * A request has arrived, and is counted.
     *
     * @param now the clock of the server
     * @returns checks the response
     */
    expect(request: WireRequest, now: number): (response: WireResponse) => void {
      const key = keyOf(state, request, now)
      const policy = key?.policy ?? anonymous ?? ANONYMOUS
      const partition = key?.id ?? `addr:${request.address}`
      const failure = failureOf(request, key !== undefined, now)
      const told = state.limits.ask(partition, policy, now)
      const call = { request, now, key, failures: failures() }
      const checkBody = told.code || failure ? undefined : expectAnswer(call)
      return response => {
        checkHeaders(response, headersFor(request, response, told, now))
        if (checkBody) return checkBody(response)
        if (!told.code) return checkError(response, failure)
        checkError(response, rejectionOf(told), 'limits.exact')
        note(told.code)
        checkAnnounced(partition, told)
      }
    },
    /** A store has announced something to its host. */
    announce,
  }

  /** All of them, but what the answer itself decides: Location, Link to a page, replays. */
  function headersFor(
    request: WireRequest,
    { status, headers, body }: WireResponse,
    told: Told,
    now: number,
  ): Headers {
    const isPage = request.method === 'GET' && petIdOf(request) === undefined
    return {
      date: new Date(Math.floor(now / 1000) * 1000).toUTCString(),
      'x-ratelimit-limit': told.limit,
      'x-ratelimit-remaining': told.remaining,
      'x-ratelimit-reset': told.reset,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      'x-content-type-options': 'nosniff',
      ...(petIdOf(request) !== undefined && {
        sunset: new Date(SUNSET).toUTCString(),
        link: '<../pets>; rel="successor-version"',
      }),
      ...(told.code && { 'retry-after': told.retryAfter, 'cache-control': 'no-store' }),
      ...(status === 503 && { 'retry-after': '1' }),
      ...(status === 401 && { 'www-authenticate': CHALLENGE }),
      ...(status === 201 && { location: `pets/${JSON.parse(body).id}` }),
      ...(status === 201 &&
        headers['idempotent-replayed'] !== undefined && { 'idempotent-replayed': 'true' }),
      ...(isPage && pagination && status === 200 && { link: headers['link'] }),
    }
  }

  function expectAnswer(call: Call): (response: WireResponse) => void {
    const { request } = call
    if (request.method === 'POST') return expectCreate(call)
    return petIdOf(request) === undefined ? expectList(call) : expectPet(call)
  }

  function expectList(call: Call): (response: WireResponse) => void {
    const given = queryOf(call.request.target)
    const limit = given.get('limit') ?? '20'
    const status = given.get('status') ?? undefined
    const after = pagination ? Number(given.get('after') ?? 0) : 0
    const operation = state.history.read()
    return response => {
      ensureStatus(response, 200)
      const pets = readPets(response.body)
      const isRight = response.body === `[${pets.map(jsonOf).join(',')}]`
      const message = () => `${call.request.target} is ${response.body.slice(0, 500)}`
      ensure(isRight, 'animals.kept', message)
      const query = { limit: Number(limit), status, after }
      const hasMore = operation.listed(query, pets)
      if (pagination) checkNext(response, query, pets, hasMore)
      note('list')
    }
  }

  /** A next page may depend on creates meanwhile, except after a page that is not full. */
  function checkNext(
    { headers }: WireResponse,
    { limit, status }: { readonly limit: number; readonly status: string | undefined },
    pets: readonly SeenPet[],
    hasMore: boolean | undefined,
  ): void {
    const { link } = headers
    const filter = status === undefined ? '' : `&status=${status}`
    const next = `<pets?limit=${limit}${filter}&after=${pets.at(-1)?.id}>; rel="next"`
    const isRight = link === undefined ? !hasMore : link === next && pets.length === limit
    ensure(isRight, 'response.true', () => `Link is ${link} after ${pets.length} of ${limit}`)
  }

  function expectPet({ request }: Call): (response: WireResponse) => void {
    const id = Number(petIdOf(request))
    const operation = state.history.read()
    return response => {
      if (response.status === 404) {
        checkError(response, { status: 404, code: 'not_found', words: ['pet'] })
        operation.got(id, undefined)
        return
      }
      ensureStatus(response, 200)
      const [pet] = readPets(`[${response.body}]`)
      const message = () => `animal ${id} is ${response.body.slice(0, 500)}`
      ensure(pet !== undefined && response.body === jsonOf(pet), 'animals.kept', message)
      operation.got(id, pet)
      note('get')
    }
  }

  function expectCreate(call: Call): (response: WireResponse) => void {
    const { request, now, key } = call
    if (request.isCut) {
      const half = { status: 400, code: 'invalid_request', words: [] }
      return response => checkError(response, half)
    }
    const { name } = JSON.parse(request.body ?? '') as { name: string }
    const text = animals.get(name)
    if (text === undefined) throw new Error(`Nobody sends ${name}`)
    const keyName = request.headers['idempotency-key']?.replaceAll('"', '')
    const isNamed = idempotencyMs !== null && keyName !== undefined
    const use = isNamed ? state.used.use(`${key?.id} ${keyName}`, name, now) : undefined
    const operation = state.history.create(name, text, use?.most)
    return response => {
      if (use && response.status === 422) {
        const words = ['Idempotency-Key', 'another animal']
        checkError(response, { status: 422, code: 'idempotency_key_reused', words })
        operation.refused()
        use.reused()
        note('422')
        return
      }
      if (response.status === 503) {
        operation.refused()
        use?.refused()
        checkUnavailable(response, Math.min(call.failures, failuresBefore))
        return
      }
      ensureStatus(response, 201)
      const [pet] = readPets(`[${response.body}]`)
      if (!pet) throw new Error('A created animal without a body')
      const replayed = response.headers['idempotent-replayed'] === 'true'
      const { body } = response
      const message = () => `created ${body.slice(0, 500)}${replayed ? ' again' : ''}`
      ensure((use !== undefined || !replayed) && body === jsonOf(pet), 'response.true', message)
      operation.stored(pet, replayed)
      answers.set(name, (answers.get(name) ?? new Set()).add(pet.id))
      if (!replayed) {
        failuresBefore = failures()
        ensureAnnounced('pet.created', body)
      }
      if (replayed) use?.replayed(pet.id)
      else use?.stored(pet.id)
      note(replayed ? 'replay' : 'create')
    }
  }

  function checkUnavailable(response: WireResponse, before: number): void {
    const message = () => `503 while nothing fails: ${response.body}`
    ensure(failures() > before, 'storage.available', message)
    const unavailable = { status: 503, code: 'storage_unavailable', words: [''] }
    checkError(response, unavailable)
    ensureAnnounced('storage.failed', { operation: 'createPet' })
    note('503')
  }

  function checkAnnounced(partition: string, told: Told): void {
    const { code, limit, remaining, reset, bannedUntil } = told
    const rateLimit = { limit: Number(limit), remaining: Number(remaining), reset: Number(reset) }
    if (code === 'rate_limit_exceeded') ensureAnnounced('limit.exceeded', { partition, rateLimit })
    if (bannedUntil) ensureAnnounced('key.banned', { keyId: partition, bannedUntil })
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

type Headers = Readonly<Record<string, string | undefined>>

/** Checks all headers but those about limits, which have an invariant of their own. */
function checkHeaders({ headers }: WireResponse, expected: Headers): void {
  for (const name of new Set([...Object.keys(headers), ...Object.keys(expected)])) {
    const isOfLimits = /ratelimit|retry-after|cache-control/.test(name)
    const message = () => `${name} is ${headers[name]}, not ${expected[name]}`
    ensure(headers[name] === expected[name], isOfLimits ? 'limits.exact' : 'response.true', message)
  }
}

function rejectionOf({ code = 'rate_limit_exceeded', limit, window, reset }: Told): Failure {
  const until = new Date(Number(reset) * 1_000).toISOString().replace('.000Z', 'Z')
  const why = code === 'api_key_banned' ? 'banned' : `limit of ${limit} requests per ${window}`
  return { status: 429, code, words: [why, `until ${until}`] }
}

/** RFC 6750 §3: each request has a bearer token. */
const CHALLENGE = 'Bearer realm="animal-adoption-store", error="invalid_token"'

/** The whole body, but for words of the message that the rules leave open. */
function checkError(
  { status, body }: WireResponse,
  expected: Failure | undefined,
  invariant: Invariant = 'response.true',
): void {
  const { code, words } = expected ?? { code: '', words: [] }
  const { message = '' } = JSON.parse(body) as { message?: string }
  const says =
    body === JSON.stringify({ code, message, status }) &&
    words.every(word => message.includes(word))
  const isRight = status === expected?.status && says
  const shown = () => `${status} ${body.slice(0, 300)} instead of ${JSON.stringify(expected)}`
  ensure(isRight, invariant, shown)
}

/** Without a valid key (spec §8). */
const ANONYMOUS: Limits = { perMinute: 60, perDay: 1_000, banAfterRejections: Infinity }

function ensureStatus({ status, body }: WireResponse, expected: number): void {
  const message = () => `${status} instead of ${expected}: ${body.slice(0, 300)}`
  ensure(status === expected, 'response.true', message)
}
