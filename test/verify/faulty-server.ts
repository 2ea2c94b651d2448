import { openApiJson } from '../../adapters/pages/openapi/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { type ApiRequest, createStore, parseJson, type Store, toJson } from '../../src/index.js'
import { T0 } from '../limits/rate-limit-vectors.js'

/** A server with one thing wrong. */
export interface PlantedFault {
  readonly wrong: Wrong
  /** Other checks that may break as well. */
  readonly also?: RegExp
  /** Animals of each status in its store. */
  readonly animals?: number
}

/** A server as a function, and time that passes only in waits. */
export interface FaultyServer {
  readonly baseUrl: string
  readonly openApiUrl: string
  readonly fetch: typeof globalThis.fetch
  readonly clock: () => number
  readonly sleep: (ms: number) => Promise<void>
}

export const MAIN_KEY = 'planted-key'
export const SPARE_KEY = 'planted-spare'

/** Without a fault, everything is right. */
export async function openFaulty({
  wrong,
  animals = 0,
}: Partial<PlantedFault>): Promise<FaultyServer> {
  let now = T0
  const limits = { perMinute: 10, perDay: 100_000 }
  const store = createStore({
    storage: memoryStorage(),
    clock: () => now,
    idempotency: { ttl: 60_000 },
    apiKeys: {
      [MAIN_KEY]: { id: 'main', plan: 'business' },
      [SPARE_KEY]: { id: 'spare', plan: 'enterprise', limits },
    },
  })
  for (let count = 0; count < animals; count++) {
    for (const status of ['available', 'pending', 'sold'] as const) {
      await store.createPet({ name: `Pet ${count}`, categoryId: 7, status })
    }
  }
  const right: Serve = async request => {
    if (request.path === '/openapi.json') return answer(200, openApiJson())
    const { status, headers, body } = await store.handle({
      ...request,
      body: request.bytes ?? request.text,
    })
    return { status, headers, body }
  }
  const serve = wrong ? wrong(right, { store, now: () => now }) : right
  return {
    baseUrl: 'http://faulty.test/v1',
    openApiUrl: 'http://faulty.test/openapi.json',
    clock: () => now,
    sleep: async ms => {
      now += ms
    },
    async fetch(...given) {
      const request = new Request(...given)
      const { pathname, search } = new URL(request.url)
      const bytes = new Uint8Array(await request.arrayBuffer())
      const { status, headers, body } = await serve({
        url: request.url,
        method: request.method,
        path: pathname,
        query: search.slice(1),
        headers: Object.fromEntries(request.headers),
        text: new TextDecoder().decode(bytes),
        bytes,
      })
      return new Response(body === '' ? null : body, { status, headers: fields(headers) })
    },
  }
}

export type Asked = Omit<ApiRequest, 'body'> & {
  /** As it was sent, with an empty query. */
  readonly url: string
  readonly text: string
  /** Undefined once the text has been changed. */
  readonly bytes: Uint8Array | undefined
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

export type Serve = (request: Asked) => Promise<Answer>
export type Wrong = (serve: Serve, world: { store: Store; now: () => number }) => Serve
export type Where = (request: Asked, given: Answer) => boolean
export type Json = Record<string, unknown>

function fields(headers: Answer['headers']): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && name.toLowerCase() !== 'content-length',
  )
  return Object.fromEntries(kept) as Record<string, string>
}

export function answer(status: number, body: string, headers: Answer['headers'] = {}): Answer {
  return { status, body, headers: { 'Content-Type': 'application/json', ...headers } }
}

export function failure(status: number, { headers }: Answer): Answer {
  const body = toJson({ code: 'failure', message: 'It failed.', status })
  return { status, headers, body }
}

/** Changes some answers. */
export function answers(
  where: Where,
  edit: (given: Answer, request: Asked) => Answer | Promise<Answer>,
): Wrong {
  return serve => async request => {
    const given = await serve(request)
    return where(request, given) ? edit(given, request) : given
  }
}

/** Changes the JSON of some answers. */
export function bodies(where: Where, edit: (value: Json, request: Asked) => unknown): Wrong {
  const isFilled: Where = (request, given) => given.body !== '' && where(request, given)
  return answers(isFilled, async (given, request) => {
    const value = parseJson(given.body)
    return { ...given, body: toJson(edit(value as Json, request)) }
  })
}

/** Changes every animal in some answers. */
export function animals(where: Where, edit: (pet: Json) => Json): Wrong {
  return bodies(where, value =>
    Array.isArray(value) ? value.map(pet => edit(pet as Json)) : edit(value),
  )
}

/** Sets headers of some answers, or removes them. */
export function headers(where: Where, set: (given: Answer['headers']) => Answer['headers']): Wrong {
  return answers(where, given => ({
    ...given,
    headers: { ...given.headers, ...set(given.headers) },
  }))
}

/** Changes the animal that a creation returns. */
export function created(edit: (pet: Json, text: string) => Json): Wrong {
  return bodies(all(isCreate, status(201)), (pet, { text }) => edit(pet, text))
}

/** Changes every animal that a list or getPet returns. */
export function listed(edit: (pet: Json) => Json): Wrong {
  return animals(all(isList, status(200)), edit)
}

export function gotten(edit: (pet: Json) => Json): Wrong {
  return animals(all(isGet, status(200)), edit)
}

/** Changes what a list returns. */
export function lists(where: Where, edit: (pets: Json[]) => unknown): Wrong {
  const isPage: Where = (request, given) =>
    given.body.startsWith('[') && isList(request) && where(request, given)
  return bodies(isPage, pets => edit(pets as unknown as Json[]))
}

/** Answers some requests with an error. */
export function refuses(code: number, where: Where): Wrong {
  return answers(where, given => failure(code, given))
}

/** Answers some requests with a page. */
export function pages(where: Where, code?: number): Wrong {
  return answers(where, ({ status: usual, headers }) => ({
    status: code ?? usual,
    headers: { ...headers, 'Content-Type': 'text/html' },
    body: '<h1>No</h1>',
  }))
}

export const asText = (where: Where) => headers(where, () => ({ 'Content-Type': 'text/plain' }))

/** Changes the query of lists before the store sees it. */
export function queries(where: (query: URLSearchParams) => boolean, edit: Query): Wrong {
  return serve => request => {
    const query = queryOf(request)
    return serve(isList(request) && where(query) ? withQuery(request, edit) : request)
  }
}

type Query = (query: URLSearchParams) => void

/** Changes the body of creations before the store sees it. */
export function creations(edit: (pet: Json, text: string) => Json | string | undefined): Wrong {
  return serve => async request => {
    if (!isCreate(request)) return serve(request)
    const value = parseOrNothing(request.text)
    const edited = edit(isPlain(value) ? value : {}, request.text)
    if (edited === undefined) return serve(request)
    const text = typeof edited === 'string' ? edited : toJson(edited)
    return serve({ ...request, text, bytes: undefined })
  }
}

/** Stores an animal although its creation was refused. */
export function storesRefused(where: Where): Wrong {
  return (serve, { store }) =>
    async request => {
      const given = await serve(request)
      if (isCreate(request) && where(request, given)) {
        const { name, status } = parseJson(request.text) as { name: string; status: 'sold' }
        const known = status.startsWith('lost') ? {} : { status }
        await store.createPet({ name, categoryId: 1, ...known })
      }
      return given
    }
}

/** Lets some requests in although their credential is wrong. */
export function admits(where: (request: Asked) => boolean): Wrong {
  return serve => request =>
    serve(where(request) ? { ...request, headers: withKey(request.headers) } : request)
}

export function withKey(given: Asked['headers']): Asked['headers'] {
  return { ...given, authorization: `Bearer ${MAIN_KEY}` }
}

export const anywhere: Where = () => true
export const isPlain = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
export const isList = ({ method, path }: Asked) => method !== 'POST' && path === '/v1/pets'
export const isCreate = ({ method, path }: Asked) => method === 'POST' && path === '/v1/pets'
export const isGet = ({ method, path }: Asked) => method === 'GET' && path.startsWith('/v1/pets/')
export const status =
  (...statuses: readonly number[]): Where =>
  (_, given) =>
    statuses.includes(given.status)
export const isBan: Where = (_, { status, body }) =>
  status === 429 && body.includes('api_key_banned')
export const all =
  (...wheres: readonly Where[]): Where =>
  (request, given) =>
    wheres.every(where => where(request, given))
export const key = ({ headers }: Asked) => headers['authorization'] ?? ''
export const isAnonymous = (request: Asked) => key(request) === ''
export const isSpare = (request: Asked) => key(request).endsWith(SPARE_KEY)
export const queryOf = ({ query }: Asked) => new URLSearchParams(query)
export const rounded = (pet: Json) => ({ ...pet, categoryId: BigInt(Number(pet['categoryId'])) })
export const withQuery = (request: Asked, edit: (query: URLSearchParams) => void): Asked => {
  const query = queryOf(request)
  edit(query)
  return { ...request, query: String(query) }
}

const LIMIT = 'X-RateLimit-Limit'
export const REMAINING = 'X-RateLimit-Remaining'
export const RESET = 'X-RateLimit-Reset'
export const NO_LIMITS = { [LIMIT]: undefined, [REMAINING]: undefined, [RESET]: undefined }

function parseOrNothing(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
