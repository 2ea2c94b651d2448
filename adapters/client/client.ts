import type { RateLimit } from '../../src/api-error.js'
import { check, isObject, settingsOf } from '../../src/lib/check-options.js'
import type { Int64 } from '../../src/lib/int64.js'
import { parseJson, toJson } from '../../src/lib/json.js'
import { type Duration, isTimeout } from '../../src/lib/time.js'
import type { Pets } from '../../src/pets/operations.js'
import { checkListPetsQuery, type ListPetsQuery } from '../../src/pets/query.js'
import type { NewPet, Pet } from '../../src/pets/schema.js'
import { PAGE_SIZE } from '../../src/pets/specification.js'
import { type Answer, attempt, type ClientRequest, title } from './attempt.js'
import { CLIENT_OPTIONS, type ClientOptions, isIdempotencyKey, isSignal } from './client-options.js'
import { readErrorResponse, toError } from './error-response.js'
import { ContractError } from './errors.js'
import {
  type ClientSnapshot,
  createUnanswered,
  toFieldString,
  type UnansweredCreate,
} from './idempotency-keys.js'
import { createSender } from './sender.js'
import { createTime } from './time.js'
import { checkNewPet, readPet, readPets } from './validate-pets.js'

/**
 * @example
 * import { createClient } from 'animal-adoption-store/client'
 *
 * const pets = createClient({ baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'demo-free' })
 * await pets.listPets({ limit: 5 }, { signal: AbortSignal.timeout(60_000), timeout: '10s' })
 */
export interface CallOptions {
  /** Cancels the call, whether it is queued, waiting or in flight. */
  readonly signal?: AbortSignal | undefined
  /** Time limit per attempt of this call. @default the client's */
  readonly timeout?: Duration | undefined
}

/**
 * @example
 * import { createClient } from 'animal-adoption-store/client'
 *
 * const pets = createClient({ baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'demo-free' })
 * await pets.createPet({ name: 'Rex', categoryId: 1 }, { idempotencyKey: 'order-7' })
 */
export interface CreateCallOptions extends CallOptions {
  /**
   * Idempotency-Key of this create: 1 to 255 printable ASCII characters, never to be reused.
   * @default a new one with the option `idempotency`, else none
   */
  readonly idempotencyKey?: string | undefined
}

/**
 * The operations of the store, carried out by a server. Besides the store's ApiErrors, they throw
 * RateLimitError, ApiKeyBannedError, ConnectionError, ContractError, QueueFullError and ClosedError.
 */
export interface Client extends Pets {
  createPet(pet: NewPet, options?: CreateCallOptions): Promise<Pet>
  listPets(query?: ListPetsQuery, options?: CallOptions): Promise<readonly Pet[]>
  /** @deprecated by the specification, see `Pets` */
  getPet(id: Int64, options?: CallOptions): Promise<Pet>
  /**
   * Iterates over all animals, or all with a status, page by page.
   * @throws ContractError after the first hundred if there are more and the server has no
   * pagination
   */
  all(query?: Pick<ListPetsQuery, 'status'>, options?: CallOptions): AsyncIterable<Pet>
  /** Limits that the last response reported; undefined before the first. */
  readonly rateLimit: RateLimit | undefined
  /** Unfinished creates with an idempotency key, for `restore` in a later process. */
  snapshot(): ClientSnapshot
  /**
   * Resends the creates of a snapshot with their keys, so that none is stored twice.
   * @returns the animal or the error of each, in the order of the snapshot
   */
  restore(snapshot: ClientSnapshot): Promise<readonly PromiseSettledResult<Pet>[]>
  /** Rejects waiting and new calls with a ClosedError; resolves once no request is in flight. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Creates a client that stays within the limits of its key, even when others use the same key: it
 * stops before they are exhausted, leaves others their share, waits as long as the server asks, and
 * sends nothing while the key is banned. Create one client per key and share it.
 * @throws OptionError
 * @example
 * import { createClient } from 'animal-adoption-store/client'
 *
 * const pets = createClient({ baseUrl: 'http://127.0.0.1:4280/v1', apiKey: 'demo-free' })
 * console.log(await pets.listPets({ limit: 1 })) // prints [ { id: 1, name: 'Biscuit', … } ]
 * await pets.close()
 */
export function createClient(given: ClientOptions): Client {
  const options = settingsOf(CLIENT_OPTIONS, given)
  const { apiKey, clock, sleep } = options
  const url = `${options.baseUrl.replace(/(?<!\/)\/+$/, '')}/pets`
  const authorization = { Authorization: `Bearer ${apiKey}` }
  const time = createTime(clock, sleep)
  const sender = createSender({ ...options, time }, `${new URL(url).href} ${apiKey}`, {
    send: (request, signal) => attempt(request, signal, { ...options, time }),
    explain,
    mayRepeat: ({ method, headers }, error) =>
      method === 'GET' ||
      'Idempotency-Key' in headers ||
      (options.retryCreates && UNAVAILABLE.has(error)),
  })
  const unanswered = createUnanswered(given.random, time.now)

  return {
    async createPet(input, call) {
      const body = toJson(checkNewPet(input))
      const { idempotencyKey = options.idempotency ? unanswered.createKey() : undefined } =
        call ?? {}
      return idempotencyKey === undefined
        ? post(body, {}, call)
        : createOnce({ idempotencyKey, body }, call)
    },
    async listPets(query = {}, call) {
      check('query', query, isObject)
      checkListPetsQuery(query, true)
      return list(query, call)
    },
    getPet: (id, call) => get(`/${encodeURIComponent(String(id))}`, readPet, call),
    all,
    get rateLimit() {
      return sender.rateLimit
    },
    snapshot: () => ({ creates: [...unanswered.creates] }),
    restore: async ({ creates }) => Promise.allSettled(creates.map(one => createOnce(one))),
    close: sender.close,
    [Symbol.asyncDispose]: sender.close,
  }

  async function createOnce(create: UnansweredCreate, call?: CallOptions): Promise<Pet> {
    const { idempotencyKey, body } = create
    check('idempotencyKey', idempotencyKey, isIdempotencyKey)
    const headers = { 'Idempotency-Key': toFieldString(idempotencyKey) }
    return unanswered.during(create, post(body, headers, call))
  }

  function post(body: string, given: object, call: CallOptions | undefined): Promise<Pet> {
    const headers = { ...authorization, 'Content-Type': 'application/json', ...given }
    return request({ method: 'POST', url, headers, body }, readPet, call)
  }

  async function* all(query: Pick<ListPetsQuery, 'status'> = {}, call?: CallOptions) {
    check('query', query, isObject)
    const { status } = query
    const limit = PAGE_SIZE.maximum
    checkListPetsQuery({ status }, true)
    let after: number | undefined
    for (;;) {
      const page: readonly Pet[] = await list({ limit, status, after }, call)
      if (after !== undefined && page[0] && page[0].id <= after) {
        throw new ContractError(
          `GET ${url} lists ${limit} animals and has no pagination (the server option \`pagination\`): there may be more.`,
        )
      }
      yield* page
      if (page.length < limit) return
      after = page.at(-1)?.id
    }
  }

  function list(query: ListPetsQuery, call: CallOptions | undefined): Promise<readonly Pet[]> {
    const { limit, status, after } = query
    const given = Object.entries({ limit, status, after }).filter(
      ([, value]) => value !== undefined,
    )
    const parameters = new URLSearchParams(given as [string, string][])
    return get(given.length === 0 ? '' : `?${parameters}`, readPets, call)
  }

  function get<T>(target: string, read: Read<T>, call: CallOptions | undefined): Promise<T> {
    return request({ method: 'GET', url: url + target, headers: authorization }, read, call)
  }

  async function request<T>(
    request: Omit<ClientRequest, 'timeoutMs'>,
    read: Read<T>,
    call: CallOptions = {},
  ): Promise<T> {
    check('options', call, isObject)
    const { signal, timeout = options.timeout } = call
    check('signal', signal, isSignal)
    check('timeout', timeout, isTimeout)
    const timeoutMs = isTimeout.read(timeout)
    const answer = await sender.send({ ...request, timeoutMs }, signal)
    if (answer.status >= 300) throw explain(answer, 0, 0)
    return read(parse(answer.text, title(request)), title(request))
  }
}

type Read<T> = (value: unknown, request: string) => T

function explain({ status, text, limits }: Answer, now: number, retryAt: number): Error {
  const response = readErrorResponse(status, text)
  const error = toError(response, limits.rateLimit, now, retryAt)
  const { code, isNamed } = response
  if (status === 503 && isNamed && code === 'storage_unavailable') UNAVAILABLE.add(error)
  return error
}

/** Errors with the store's own 503. After a gateway's 503, the create may have been stored. */
const UNAVAILABLE = new WeakSet<Error>()

function parse(text: string, request: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new ContractError(`The response to ${request} is not JSON.`, { cause })
  }
}
