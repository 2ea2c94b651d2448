import { invalidRequest, type RateLimit } from '../../src/errors.js'
import type { Int64 } from '../../src/int64.js'
import { parseJson, toJson } from '../../src/json.js'
import { lazy } from '../../src/lazy.js'
import type { NewPet, Pet } from '../../src/model.js'
import type { Pets } from '../../src/pets.js'
import type { Clock } from '../../src/ports.js'
import type { ListPetsQuery } from '../../src/query.js'
import { type ClientRequest, unlessAborted } from './attempt.js'
import { ContractError } from './errors.js'
import { createGate, type Sleep } from './gate.js'
import { checkClientOptions } from './options.js'
import { createScheduler } from './scheduler.js'
import { send } from './send.js'

export interface ClientOptions {
  /** With its version segment, such as `http://127.0.0.1:4280/v1`. */
  readonly baseUrl: string
  readonly apiKey: string
  /**
   * Requests at once. As many can be rejected at once; up to ten of them ban no key of the
   * specification's plans.
   * @default 10
   */
  readonly maxConcurrent?: number
  /** Calls that wait for one of those; further ones get a QueueFullError. @default 10_000 */
  readonly maxQueued?: number
  /** Tries after the first. @default 3 */
  readonly maxRetries?: number
  /** When the server asks for a longer wait, the call fails instead, in ms. @default 120_000 */
  readonly maxWaitMs?: number
  /** Until when a try has its whole answer, in ms. @default 30_000 */
  readonly timeoutMs?: number
  /** @default that of the platform */
  readonly fetch?: typeof globalThis.fetch
  /** @default Date.now */
  readonly clock?: Clock
  /** @default setTimeout */
  readonly sleep?: Sleep
  /** From 0 up to 1. @default Math.random */
  readonly random?: () => number
}

export interface CallOptions {
  /** Ends the call wherever it is: in the queue, in a wait or on the way. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The operations as the store has them, on a server. Beside the ApiErrors of the store they throw
 * RateLimitError, ApiKeyBannedError, ConnectionError, ContractError and QueueFullError.
 */
export interface Client extends Pets {
  createPet(pet: NewPet, options?: CallOptions): Promise<Pet>
  listPets(query?: ListPetsQuery, options?: CallOptions): Promise<readonly Pet[]>
  /** @deprecated by the specification, see `Pets` */
  getPet(id: Int64, options?: CallOptions): Promise<Pet>
  /** What the last answer said; undefined before the first. */
  readonly rateLimit: RateLimit | undefined
}

const model = lazy(() => import('../../src/model.js'))

/**
 * A client that stays within the limits of its key: it stops before they are used up, waits as long
 * as it is told, and never goes on into a ban. What it knows of a key it knows alone: make one
 * client for each key, and share it.
 *
 * @throws OptionError
 */
export function createClient(given: ClientOptions): Client {
  const options = checkClientOptions(given)
  const { apiKey, maxConcurrent, maxQueued } = options
  const pets = `${options.baseUrl.replace(/\/+$/, '')}/pets`
  const authorization = { Authorization: `Bearer ${apiKey}` }
  const gate = createGate(options)
  const scheduler = createScheduler(maxConcurrent, maxQueued)

  return {
    async createPet(input, call) {
      const { newPetSchema, petSchema, describeIssues } = await model()
      // Here already, because a number that is not safe would be another one on its way.
      const pet = newPetSchema.safeParse(input)
      if (!pet.success) throw invalidRequest(describeIssues(pet.error, input))
      const headers = { ...authorization, 'Content-Type': 'application/json' }
      const body = toJson(pet.data)
      return request({ method: 'POST', url: pets, headers, body }, petSchema, call)
    },
    async listPets(query = {}, call) {
      const { petsSchema } = await model()
      return request(get(pets + queryString(query)), petsSchema, call)
    },
    async getPet(id, call) {
      const { petSchema } = await model()
      return request(get(`${pets}/${encodeURIComponent(String(id))}`), petSchema, call)
    },
    get rateLimit() {
      return gate.rateLimit
    },
  }

  function get(url: string): ClientRequest {
    return { method: 'GET', url, headers: authorization }
  }

  async function request<T>(
    request: ClientRequest,
    schema: Schema<T>,
    { signal }: CallOptions = {},
  ): Promise<T> {
    const answer = await unlessAborted(signal, () =>
      scheduler.schedule(() => send(request, signal, gate, options)),
    )
    return read(answer.text, schema, `${request.method} ${request.url}`)
  }
}

type Schema<T> = import('zod').ZodType<T>

async function read<T>(text: string, schema: Schema<T>, what: string): Promise<T> {
  const { describeIssues } = await model()
  const value = await parseJson(text).catch(cause => {
    throw new ContractError(`The answer to ${what} is not JSON.`, { cause })
  })
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new ContractError(
    `The answer to ${what} breaks the contract: ${describeIssues(parsed.error, value)}.`,
  )
}

/** What is not given is not sent. */
function queryString(query: ListPetsQuery): string {
  const { limit, status, after } = query
  const given = Object.entries({ limit, status, after }).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(toText))}`
}

function toText([name, value]: [string, unknown]): [string, string] {
  return [name, String(value)]
}
