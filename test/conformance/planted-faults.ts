import { memoryStorage } from '../../adapters/memory.js'
import { openApiJson } from '../../adapters/openapi/index.js'
import { type ApiRequest, createStore, parseJson, type Store, toJson } from '../../src/index.js'
import { isInt64 } from '../../src/lib/int64.js'
import { T0 } from '../limits/rate-limit-vectors.js'

/** A server with one thing wrong. */
export interface PlantedFault {
  readonly name: string
  /** The check that names it. */
  readonly caughtBy: string
  /** Other checks that this fault always breaks as well. */
  readonly also?: readonly string[]
  /** Animals of each status in its store. */
  readonly animals?: number
  readonly wrong: Wrong
}

/** A server as a function, and time that passes only in waits. */
export interface FaultyServer {
  readonly baseUrl: string
  readonly openApiUrl: string
  readonly fetch: (request: Request) => Promise<Response>
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
    if (request.path === '/openapi.json') return answer(200, await openApiJson())
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
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      const bytes = new Uint8Array(await request.arrayBuffer())
      const { status, headers, body } = await serve({
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

type Asked = Omit<ApiRequest, 'body'> & {
  readonly text: string
  /** Undefined once the text has been changed. */
  readonly bytes: Uint8Array | undefined
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

type Serve = (request: Asked) => Promise<Answer>
type Wrong = (serve: Serve, world: { store: Store; now: () => number }) => Serve
type Where = (request: Asked, given: Answer) => boolean
type Json = Record<string, unknown>

function fields(headers: Answer['headers']): Record<string, string> {
  const kept = Object.entries(headers).filter(
    ([name, value]) => value !== undefined && name.toLowerCase() !== 'content-length',
  )
  return Object.fromEntries(kept) as Record<string, string>
}

function answer(status: number, body: string, headers: Answer['headers'] = {}): Answer {
  return { status, body, headers: { 'Content-Type': 'application/json', ...headers } }
}

function failure(status: number, { headers }: Answer): Answer {
  const body = toJson({ code: 'failure', message: 'It failed.', status })
  return { status, headers, body }
}

/** Changes some answers. */
function answers(
  where: Where,
  edit: (given: Answer, request: Asked) => Answer | Promise<Answer>,
): Wrong {
  return serve => async request => {
    const given = await serve(request)
    return where(request, given) ? edit(given, request) : given
  }
}

/** Changes the JSON of some answers. */
function bodies(where: Where, edit: (value: Json, request: Asked) => unknown): Wrong {
  const isFilled: Where = (request, given) => given.body !== '' && where(request, given)
  return answers(isFilled, async (given, request) => {
    const value = await parseJson(given.body)
    return { ...given, body: toJson(edit(value as Json, request)) }
  })
}

/** Changes every animal in some answers. */
function animals(where: Where, edit: (pet: Json) => Json): Wrong {
  return bodies(where, value =>
    Array.isArray(value) ? value.map(pet => edit(pet as Json)) : edit(value),
  )
}

/** Sets headers of some answers, or removes them. */
function headers(where: Where, set: (given: Answer['headers']) => Answer['headers']): Wrong {
  return answers(where, given => ({
    ...given,
    headers: { ...given.headers, ...set(given.headers) },
  }))
}

/** Changes the body of creations before the store sees it. */
function creations(edit: (pet: Json, text: string) => Json | string | undefined): Wrong {
  return serve => async request => {
    if (!isCreate(request)) return serve(request)
    const value = await parseJson(request.text).catch(() => undefined)
    const edited = edit(isPlain(value) ? value : {}, request.text)
    if (edited === undefined) return serve(request)
    const text = typeof edited === 'string' ? edited : toJson(edited)
    return serve({ ...request, text, bytes: undefined })
  }
}

/** Lets some requests in although their credential is wrong. */
function admits(where: (request: Asked) => boolean): Wrong {
  return serve => request =>
    serve(where(request) ? { ...request, headers: withKey(request.headers) } : request)
}

function withKey(given: Asked['headers']): Asked['headers'] {
  return { ...given, authorization: `Bearer ${MAIN_KEY}` }
}

const anywhere: Where = () => true
const isPlain = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isList = ({ method, path }: Asked) => method !== 'POST' && path === '/v1/pets'
const isCreate = ({ method, path }: Asked) => method === 'POST' && path === '/v1/pets'
const isGet = ({ method, path }: Asked) => method === 'GET' && path.startsWith('/v1/pets/')
const status =
  (...statuses: readonly number[]): Where =>
  (_, given) =>
    statuses.includes(given.status)
const all =
  (...wheres: readonly Where[]): Where =>
  (request, given) =>
    wheres.every(where => where(request, given))
const key = ({ headers }: Asked) => headers['authorization'] ?? ''
const isAnonymous = (request: Asked) => key(request) === ''
const isSpare = (request: Asked) => key(request).endsWith(SPARE_KEY)
const queryOf = ({ query }: Asked) => new URLSearchParams(query)
const round = (value: unknown) => Number(value)
const rounded = (pet: Json) => ({ ...pet, categoryId: BigInt(round(pet['categoryId'])) })
const withQuery = (request: Asked, edit: (query: URLSearchParams) => void): Asked => {
  const query = queryOf(request)
  edit(query)
  return { ...request, query: String(query) }
}

const LIMIT = 'X-RateLimit-Limit'
const REMAINING = 'X-RateLimit-Remaining'
const RESET = 'X-RateLimit-Reset'
const NO_LIMITS = { [LIMIT]: undefined, [REMAINING]: undefined, [RESET]: undefined }

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  // Authentication
  {
    name: 'lists without a key',
    caughtBy: 'auth.missing.list',
    wrong: admits(request => isList(request) && isAnonymous(request) && request.query === ''),
  },
  {
    name: 'checks no key in getPet',
    caughtBy: 'auth.missing.get',
    also: ['auth.unknown.get'],
    wrong: admits(isGet),
  },
  {
    name: 'creates without a key',
    caughtBy: 'auth.missing.create',
    wrong: admits(request => isCreate(request) && isAnonymous(request) && request.text !== '{'),
  },
  {
    name: 'accepts any key for lists',
    caughtBy: 'auth.unknown.list',
    also: ['auth.exact', 'auth.scheme'],
    wrong: admits(request => isList(request) && !isAnonymous(request) && !isSpare(request)),
  },
  {
    name: 'creates with any key',
    caughtBy: 'auth.unknown.create',
    wrong: admits(request => isCreate(request) && !isAnonymous(request)),
  },
  {
    name: 'gets with any key',
    caughtBy: 'auth.unknown.get',
    wrong: admits(request => isGet(request) && !isAnonymous(request)),
  },
  {
    name: 'checks the key after the body',
    caughtBy: 'auth.before-body',
    wrong: admits(request => isCreate(request) && request.text === '{'),
  },
  {
    name: 'checks the key after the query',
    caughtBy: 'auth.before-query',
    wrong: admits(request => request.query === 'limit=0'),
  },
  {
    name: 'compares only the beginning of the key',
    caughtBy: 'auth.exact',
    wrong: admits(request => key(request).startsWith(`Bearer ${MAIN_KEY.slice(0, -1)}`)),
  },
  {
    name: 'takes the key without a scheme',
    caughtBy: 'auth.scheme',
    wrong: admits(request => key(request) === MAIN_KEY),
  },
  {
    name: 'takes the key in any scheme',
    caughtBy: 'auth.scheme',
    wrong: admits(request => key(request) === `Basic ${MAIN_KEY}`),
  },
  {
    name: 'knows the scheme only as Bearer',
    caughtBy: 'auth.scheme-case',
    wrong: serve => request =>
      serve(
        key(request).startsWith('Bearer')
          ? request
          : { ...request, headers: { ...request.headers, authorization: '' } },
      ),
  },
  ...(['list', 'create', 'get'] as const).map(
    (name): PlantedFault => ({
      name: `answers ${name} with 401 but no challenge`,
      caughtBy: `auth.challenge.${name}`,
      wrong: headers(
        all({ list: isList, create: isCreate, get: isGet }[name], status(401)),
        () => ({
          'WWW-Authenticate': undefined,
        }),
      ),
    }),
  ),
  {
    name: 'challenges for Basic',
    caughtBy: 'auth.challenge-scheme',
    wrong: headers(status(401), () => ({ 'WWW-Authenticate': 'Basic realm="pets"' })),
  },
  {
    name: 'repeats an unknown key',
    caughtBy: 'auth.echo',
    wrong: bodies(status(401), (error, request) => ({ ...error, message: `${key(request)}?` })),
  },

  // createPet
  {
    name: 'creates with an animal of another name',
    caughtBy: 'create.answer',
    also: ['create.name-unicode', 'create.name-exact', 'create.name-long'],
    wrong: animals(all(isCreate, status(201)), pet => ({ ...pet, name: 'Rex' })),
  },
  {
    name: 'answers a creation as text',
    caughtBy: 'create.type',
    wrong: headers(all(isCreate, status(201)), () => ({ 'Content-Type': 'text/plain' })),
  },
  {
    name: 'answers a creation without an id',
    caughtBy: 'create.id',
    also: [
      'create.unique',
      'create.id-ignored',
      'create.location',
      'get.answer',
      'get.created',
      'get.int64',
      'list.created.available',
      'list.created.pending',
      'list.created.sold',
      'list.int64',
    ],
    wrong: animals(all(isCreate, status(201)), pet => ({ ...pet, id: undefined })),
  },
  {
    name: 'reuses ids',
    caughtBy: 'create.unique',
    also: ['get.int64', 'list.int64', 'list.unique'],
    wrong: animals(anywhere, pet => ({ ...pet, id: Number(pet['id']) % 3 })),
  },
  {
    name: 'takes the id of the body',
    caughtBy: 'create.id-ignored',
    wrong: bodies(all(isCreate, status(201)), (pet, { text }) => {
      const [, id] = /"id":(\d+)/.exec(text) ?? []
      return id === undefined ? pet : { ...pet, id: Number(id) }
    }),
  },
  {
    name: 'requires a status',
    caughtBy: 'create.status-optional',
    wrong: creations(({ status }) => (status === undefined ? {} : undefined)),
  },
  ...(['available', 'pending', 'sold'] as const).map(
    (name): PlantedFault => ({
      name: `answers every creation of ${name} without a status`,
      caughtBy: `create.status.${name}`,
      wrong: animals(all(isCreate, status(201)), pet =>
        pet['status'] === name ? { ...pet, status: undefined } : pet,
      ),
    }),
  ),
  {
    name: 'rounds what it answers to a creation',
    caughtBy: 'create.int64.beyond-double',
    wrong: animals(all(isCreate, status(201)), pet =>
      Number(pet['categoryId']) < 2 ** 60 ? rounded(pet) : pet,
    ),
  },
  {
    name: 'rounds the largest int64',
    caughtBy: 'create.int64.maximum',
    wrong: animals(all(isCreate, status(201)), pet =>
      Number(pet['categoryId']) > 2 ** 60 ? rounded(pet) : pet,
    ),
  },
  {
    name: 'loses the sign of the smallest int64',
    caughtBy: 'create.int64.minimum',
    wrong: answers(all(isCreate, status(201)), given => ({
      ...given,
      body: given.body.replace('-9223372036854775808', '9223372036854775808'),
    })),
  },
  {
    name: 'takes category 0 for none',
    caughtBy: 'create.int64.zero',
    wrong: animals(all(isCreate, status(201)), pet =>
      pet['categoryId'] === 0 ? { ...pet, categoryId: null } : pet,
    ),
  },
  {
    name: 'knows only categories of 32 bits',
    caughtBy: 'create.any-category',
    wrong: creations(({ categoryId }) =>
      typeof categoryId === 'bigint' || Number(categoryId) > 2 ** 31 ? {} : undefined,
    ),
  },
  {
    name: 'keeps 1e3 as text',
    caughtBy: 'create.number-forms',
    wrong: bodies(all(isCreate, status(201)), (pet, { text }) =>
      text.includes(':1e3') ? { ...pet, categoryId: '1e3' } : pet,
    ),
  },
  {
    name: 'stores only ASCII',
    caughtBy: 'create.name-unicode',
    also: ['create.name-exact'],
    wrong: animals(all(isCreate, status(201)), pet => ({
      ...pet,
      name: String(pet['name']).replace(/[^\x00-\x7f]/g, '?'),
    })),
  },
  {
    name: 'trims names',
    caughtBy: 'create.name-exact',
    wrong: animals(all(isCreate, status(201)), pet => ({
      ...pet,
      name: String(pet['name']).trim(),
    })),
  },
  {
    name: 'normalizes names',
    caughtBy: 'create.name-exact',
    wrong: animals(all(isCreate, status(201)), pet => ({
      ...pet,
      name: String(pet['name']).normalize('NFC'),
    })),
  },
  {
    name: 'cuts names off',
    caughtBy: 'create.name-long',
    wrong: animals(all(isCreate, status(201)), pet => ({
      ...pet,
      name: String(pet['name']).slice(0, 255),
    })),
  },
  {
    name: 'fails on an unknown field',
    caughtBy: 'create.unknown-field',
    wrong: answers(
      ({ text }) => text.includes('"color"'),
      given => failure(500, given),
    ),
  },
  {
    name: 'refuses a charset',
    caughtBy: 'create.charset',
    wrong: answers(
      ({ headers }) => String(headers['content-type']).includes('charset'),
      given => failure(415, given),
    ),
  },
  {
    name: 'knows the media type only in lower case',
    caughtBy: 'create.media-type-case',
    wrong: answers(
      ({ headers }) => String(headers['content-type']).startsWith('Application'),
      given => failure(415, given),
    ),
  },
  {
    name: 'sends a Location that leads nowhere',
    caughtBy: 'create.location',
    wrong: headers(all(isCreate, status(201)), () => ({ Location: '/v1/pets/4711' })),
  },
  {
    name: 'stores what it refuses',
    caughtBy: 'create.refused-unstored',
    wrong:
      (serve, { store }) =>
      async request => {
        const given = await serve(request)
        if (isCreate(request) && request.text.includes('"lost"')) {
          const { name } = (await parseJson(request.text)) as { name: string }
          await store.createPet({ name, categoryId: 1 })
        }
        return given
      },
  },
  {
    name: 'fills in a missing name',
    caughtBy: 'create.name-missing',
    wrong: creations(pet =>
      'categoryId' in pet && !('name' in pet) ? { name: 'Rex', ...pet } : undefined,
    ),
  },
  {
    name: 'fills in a missing category',
    caughtBy: 'create.category-missing',
    wrong: creations(pet =>
      'name' in pet && !('categoryId' in pet) ? { categoryId: 1, ...pet } : undefined,
    ),
  },
  {
    name: 'answers an empty object with 422',
    caughtBy: 'create.empty',
    wrong: answers(
      ({ text }, given) => text === '{}' && given.status === 400,
      given => failure(422, given),
    ),
  },
  {
    name: 'turns any name into a string',
    caughtBy: 'create.name-type',
    wrong: creations(pet =>
      pet['name'] === undefined || pet['name'] === null || typeof pet['name'] === 'string'
        ? undefined
        : { ...pet, name: String(pet['name']) },
    ),
  },
  {
    name: 'takes null for a name',
    caughtBy: 'create.name-null',
    wrong: creations(pet => (pet['name'] === null ? { ...pet, name: 'null' } : undefined)),
  },
  {
    name: 'reads digits in a string as a category',
    caughtBy: 'create.category-string',
    wrong: creations(pet =>
      typeof pet['categoryId'] === 'string'
        ? { ...pet, categoryId: Number(pet['categoryId']) }
        : undefined,
    ),
  },
  {
    name: 'takes true for category 1',
    caughtBy: 'create.category-type',
    wrong: creations(pet => (pet['categoryId'] === true ? { ...pet, categoryId: 1 } : undefined)),
  },
  {
    name: 'takes null for category 0',
    caughtBy: 'create.category-null',
    wrong: creations(pet => (pet['categoryId'] === null ? { ...pet, categoryId: 0 } : undefined)),
  },
  {
    name: 'cuts off fractions',
    caughtBy: 'create.category-fraction',
    wrong: creations(pet => (pet['categoryId'] === 1.5 ? { ...pet, categoryId: 1 } : undefined)),
  },
  {
    name: 'clamps categories to int64',
    caughtBy: 'create.category-too-large',
    wrong: creations(pet =>
      typeof pet['categoryId'] === 'bigint' && !isInt64(pet['categoryId'])
        ? { ...pet, categoryId: 2n ** 63n - 1n }
        : undefined,
    ),
  },
  {
    name: 'ignores an unknown status',
    caughtBy: 'create.status-unknown',
    wrong: creations(pet => (pet['status'] === 'lost' ? { ...pet, status: 'sold' } : undefined)),
  },
  {
    name: 'reads the status in any case',
    caughtBy: 'create.status-case',
    wrong: creations(pet =>
      pet['status'] === 'Available' ? { ...pet, status: 'available' } : undefined,
    ),
  },
  {
    name: 'takes an empty status for none',
    caughtBy: 'create.status-empty',
    wrong: creations(pet => (pet['status'] === '' ? { ...pet, status: undefined } : undefined)),
  },
  {
    name: 'ignores a status that is not a string',
    caughtBy: 'create.status-type',
    wrong: creations(pet =>
      pet['status'] !== undefined && typeof pet['status'] !== 'string'
        ? { ...pet, status: undefined }
        : undefined,
    ),
  },
  {
    name: 'answers an array with 500',
    caughtBy: 'create.not-an-object',
    wrong: answers(
      ({ text }) => text === '[]',
      given => failure(500, given),
    ),
  },
  {
    name: 'takes no body for an empty animal',
    caughtBy: 'create.no-body',
    wrong: answers(
      request => isCreate(request) && request.text === '' && !isAnonymous(request),
      given => ({ ...given, status: 201 }),
    ),
  },
  {
    name: 'reads JSON with a trailing comma',
    caughtBy: 'create.malformed',
    wrong: creations((_, text) => (text.endsWith(',}') ? text.replace(',}', '}') : undefined)),
  },

  // getPet
  {
    name: 'gets another animal',
    caughtBy: 'get.answer',
    also: ['create.location', 'get.listed'],
    wrong: animals(all(isGet, status(200)), pet => ({ ...pet, id: Number(pet['id']) + 1 })),
  },
  {
    name: 'gets animals as text',
    caughtBy: 'get.type',
    wrong: headers(all(isGet, status(200)), () => ({ 'Content-Type': 'text/plain' })),
  },
  {
    name: 'loses the status',
    caughtBy: 'get.created',
    also: ['get.listed'],
    wrong: animals(all(isGet, status(200)), pet => ({ ...pet, status: undefined })),
  },
  {
    name: 'gets another category than it lists',
    caughtBy: 'get.listed',
    wrong: animals(all(isGet, status(200)), pet =>
      pet['categoryId'] === 1 ? { ...pet, categoryId: 2 } : pet,
    ),
  },
  {
    name: 'rounds in getPet',
    caughtBy: 'get.int64',
    wrong: animals(all(isGet, status(200)), rounded),
  },
  {
    name: 'answers 200 with null for what is absent',
    caughtBy: 'get.absent',
    also: ['get.not-an-id', 'robust.long-path', 'robust.bad-encoding'],
    wrong: answers(all(isGet, status(404)), given => ({ ...given, status: 200, body: 'null' })),
  },
  {
    name: 'fails on an id that is not a number',
    caughtBy: 'get.not-an-id',
    wrong: answers(
      ({ path }) => path === '/v1/pets/verify',
      given => failure(500, given),
    ),
  },

  // listPets
  {
    name: 'wraps lists in an object',
    caughtBy: 'list.answer',
    wrong: bodies(
      ({ query, path }, given) =>
        path === '/v1/pets' && query === '' && Array.isArray(JSON.parse(given.body || '0')),
      data => ({ data }),
    ),
    also: ['list.limit-default'],
  },
  {
    name: 'lists as text',
    caughtBy: 'list.type',
    wrong: headers(all(isList, status(200)), () => ({ 'Content-Type': 'text/plain' })),
  },
  {
    name: 'lists ids as strings',
    caughtBy: 'list.animals',
    also: [
      'get.listed',
      'list.created.available',
      'list.created.pending',
      'list.created.sold',
      'list.int64',
    ],
    wrong: animals(all(isList, status(200)), pet => ({ ...pet, id: String(pet['id']) })),
  },
  {
    name: 'lists an animal twice',
    caughtBy: 'list.unique',
    wrong: bodies(all(isList, status(200)), (pets, { query }) =>
      query === 'limit=100'
        ? [...(pets as unknown as Json[]), (pets as unknown as Json[])[0]]
        : pets,
    ),
  },
  {
    name: 'ignores the limit',
    caughtBy: 'list.limit',
    also: ['list.encoded'],
    wrong: serve => request =>
      serve(
        isList(request) && Number(queryOf(request).get('limit')) < 20
          ? withQuery(request, query => query.set('limit', '20'))
          : request,
      ),
  },
  {
    name: 'allows at most 50',
    caughtBy: 'list.limit-maximum',
    wrong: answers(
      ({ query }) => query === 'limit=100',
      given => failure(400, given),
    ),
    also: [
      'create.refused-unstored',
      'get.listed',
      'list.animals',
      'list.unique',
      'list.limit-filled',
      'list.steady',
      'list.int64',
    ],
  },
  {
    name: 'lists 10 by default',
    caughtBy: 'list.limit-default',
    animals: 10,
    wrong: serve => request =>
      serve(
        isList(request) && !queryOf(request).has('limit')
          ? withQuery(request, query => query.set('limit', '10'))
          : request,
      ),
  },
  {
    name: 'lists one animal less than the limit',
    caughtBy: 'list.limit-filled',
    wrong: bodies(all(isList, status(200)), (pets, { query }) =>
      query === 'limit=2' ? (pets as unknown as Json[]).slice(0, 1) : pets,
    ),
  },
  {
    name: 'has no maximum limit',
    caughtBy: 'list.limit-above',
    animals: 40,
    wrong:
      (serve, { store }) =>
      async request => {
        const given = await serve(request)
        if (request.query !== 'limit=101') return given
        const pets = await store.listPets({ limit: 100 })
        return { ...given, status: 200, body: toJson([...pets, pets[0]]) }
      },
  },
  {
    name: 'fails on limit 0',
    caughtBy: 'list.limit-below',
    wrong: answers(
      ({ query, headers }) => query === 'limit=0' && 'authorization' in headers,
      given => failure(500, given),
    ),
  },
  {
    name: 'fails on a limit that is not a number',
    caughtBy: 'list.limit-type',
    wrong: answers(
      ({ query }) => query === 'limit=many',
      given => failure(500, given),
    ),
  },
  {
    name: 'does not decode the query',
    caughtBy: 'list.encoded',
    wrong: serve => request =>
      serve(request.query === 'limit=%31' ? { ...request, query: '' } : request),
  },
  ...(['available', 'pending', 'sold'] as const).map(
    (name): PlantedFault => ({
      name: `ignores the filter ${name}`,
      caughtBy: `list.status.${name}`,
      also: name === 'sold' ? ['list.status-limit'] : [],
      wrong: serve => request =>
        serve(
          queryOf(request).get('status') === name
            ? withQuery(request, query => query.delete('status'))
            : request,
        ),
    }),
  ),
  ...(['available', 'pending', 'sold'] as const).map(
    (name): PlantedFault => ({
      name: `finds no animals that are ${name}`,
      caughtBy: `list.created.${name}`,
      wrong: bodies(
        request => queryOf(request).get('status') === name,
        () => [],
      ),
    }),
  ),
  {
    name: 'applies the limit before the filter',
    caughtBy: 'list.status-limit',
    wrong: bodies(
      ({ query }) => query === 'status=sold&limit=1',
      () => [],
    ),
  },
  {
    name: 'lists everything for an unknown status',
    caughtBy: 'list.status-unknown',
    wrong: serve => request =>
      serve(request.query === 'status=lost' ? { ...request, query: '' } : request),
  },
  {
    name: 'fails on an unknown parameter',
    caughtBy: 'list.unknown-parameter',
    wrong: answers(
      ({ query }) => query === 'verify=1',
      given => failure(500, given),
    ),
  },
  {
    name: 'lists in another order each time',
    caughtBy: 'list.steady',
    wrong: serve => {
      let turn = 0
      return async request => {
        const given = await serve(request)
        if (!isList(request) || given.status !== 200 || request.method === 'HEAD') return given
        const pets = (await parseJson(given.body)) as Json[]
        const at = turn++ % Math.max(1, pets.length)
        return { ...given, body: toJson([...pets.slice(at), ...pets.slice(0, at)]) }
      }
    },
  },
  {
    name: 'rounds in lists',
    caughtBy: 'list.int64',
    wrong: animals(all(isList, status(200)), pet =>
      Number(pet['categoryId']) < 2 ** 60 ? rounded(pet) : pet,
    ),
  },
  {
    name: 'serves a path that nobody knows',
    caughtBy: 'list.unknown-path',
    wrong: answers(
      ({ path }) => path === '/v1/verify-unknown',
      given => ({ ...given, status: 200 }),
    ),
  },

  // Errors
  ...([400, 401, 404] as const).flatMap((code): PlantedFault[] => [
    {
      name: `answers ${code} without a code`,
      caughtBy: `error.body.${code}`,
      also: [...(code === 404 ? [] : ['error.code'])],
      wrong: bodies(status(code), error => ({ ...error, code: undefined })),
    },
    {
      name: `answers ${code} with another status in the body`,
      caughtBy: `error.status.${code}`,
      wrong: bodies(status(code), error => ({ ...error, status: 500 })),
    },
    {
      name: `answers ${code} as a page`,
      caughtBy: `error.type.${code}`,
      wrong: headers(status(code), () => ({ 'Content-Type': 'text/html' })),
    },
  ]),
  {
    name: 'has one code for everything',
    caughtBy: 'error.code',
    wrong: bodies(status(400, 401, 404), error => ({ ...error, code: 'error' })),
  },
  {
    name: 'shows a stack trace',
    caughtBy: 'error.internals',
    wrong: bodies(status(400), error => ({ ...error, message: 'No\n    at parse (body.js:1:2)' })),
  },

  // Rate limit headers
  ...([200, 201, 400, 401, 404] as const).map(
    (code): PlantedFault => ({
      name: `answers ${code} without rate limit headers`,
      caughtBy: `ratelimit.present.${code}`,
      wrong: headers(
        all(status(code), request => !isSpare(request)),
        () => NO_LIMITS,
      ),
    }),
  ),
  {
    name: 'has fractions of requests',
    caughtBy: 'ratelimit.integers',
    wrong: headers(
      request => isList(request) && !isSpare(request),
      given => ({ [REMAINING]: given[REMAINING] && `${given[REMAINING]}.5` }),
    ),
  },
  {
    name: 'has more requests left than the limit',
    caughtBy: 'ratelimit.bounds',
    wrong: headers(
      all(isList, request => !isSpare(request)),
      given => ({ [LIMIT]: '60', [REMAINING]: String(Number(given[REMAINING]) + 60) }),
    ),
  },
  {
    name: 'resets in milliseconds',
    caughtBy: 'ratelimit.reset-seconds',
    wrong: headers(anywhere, given => ({ [RESET]: given[RESET] && `${given[RESET]}000` })),
  },
  {
    name: 'resets in so many seconds',
    caughtBy: 'ratelimit.reset-seconds',
    also: ['ratelimit.reset-future'],
    wrong: headers(anywhere, given => ({ [RESET]: given[RESET] && '60' })),
  },
  {
    name: 'resets an hour ago',
    caughtBy: 'ratelimit.reset-future',
    wrong: headers(anywhere, given => ({
      [RESET]: given[RESET] && String(Number(given[RESET]) - 3_600),
    })),
  },
  {
    name: 'never counts down',
    caughtBy: 'ratelimit.counts',
    wrong: headers(
      request => !isSpare(request),
      given => ({ [REMAINING]: given[REMAINING] && '42' }),
    ),
  },

  // Deprecation
  {
    name: 'announces no removal',
    caughtBy: 'deprecation.announced',
    wrong: headers(isGet, () => ({ Sunset: undefined, Link: undefined })),
  },
  {
    name: 'announces another day',
    caughtBy: 'deprecation.sunset',
    wrong: headers(isGet, () => ({ Sunset: 'Thu, 12 Dec 2030 00:00:00 GMT' })),
  },
  {
    name: 'announces the day in ISO form',
    caughtBy: 'deprecation.sunset',
    wrong: headers(isGet, () => ({ Sunset: '2030-12-05T00:00:00Z' })),
  },
  {
    name: 'is deprecated without a date',
    caughtBy: 'deprecation.date',
    wrong: headers(isGet, () => ({ Deprecation: 'true' })),
  },
  {
    name: 'is deprecated only after its removal',
    caughtBy: 'deprecation.date',
    wrong: headers(isGet, () => ({ Deprecation: '@1923000000' })),
  },
  {
    name: 'deprecates the list',
    caughtBy: 'deprecation.only-get',
    wrong: headers(isList, () => ({ Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' })),
  },

  // Robustness
  ...Object.entries({
    nesting: ({ text }: Asked) => text.includes('[[[[['),
    'long-number': ({ text }: Asked) => text.includes('9'.repeat(1_000)),
    'large-body': ({ text }: Asked) => text.startsWith(' '.repeat(1_000)),
    utf8: ({ text }: Asked) => text.includes('not UTF-8 \ufffd'),
    'content-type': ({ headers }: Asked) => headers['content-type'] === 'text/plain',
    'content-encoding': ({ headers }: Asked) => headers['content-encoding'] === 'gzip',
    prototype: ({ text }: Asked) => text.includes('__proto__'),
    'long-path': ({ path }: Asked) => path.length > 1_000,
    'bad-encoding': ({ path, query }: Asked) => `${path}${query}`.includes('%zz'),
    head: ({ method }: Asked) => method === 'HEAD',
  }).map(
    ([name, where]): PlantedFault => ({
      name: `fails on ${name}`,
      caughtBy: `robust.${name}`,
      wrong: answers(where, given => failure(500, given)),
    }),
  ),
  {
    name: 'serves any method',
    caughtBy: 'robust.method',
    wrong: answers(
      ({ method }) => method === 'PROPFIND',
      given => ({ ...given, status: 200 }),
    ),
  },
  {
    name: 'does not say which methods it has',
    caughtBy: 'robust.allow',
    wrong: headers(status(405), () => ({ Allow: undefined })),
  },
  {
    name: 'breaks after a deep body',
    caughtBy: 'robust.alive',
    also: [
      'robust.long-path',
      'robust.bad-encoding',
      'robust.method',
      'robust.head',
      'robust.long-number',
      'robust.large-body',
      'robust.utf8',
      'robust.content-type',
      'robust.content-encoding',
      'robust.prototype',
    ],
    wrong: serve => {
      let isBroken = false
      return async request => {
        const given = await serve(request)
        if (isBroken) return failure(500, given)
        isBroken = request.text.includes('[[[[[')
        return given
      }
    },
  },

  // The description
  ...Object.entries<(document: Json) => Json>({
    document: document => ({ ...document, openapi: '2.0' }),
    version: document => ({ ...document, info: { version: '2.0.0' } }),
    operations: changed('"operationId":"listPets"', '"operationId":"getPets"'),
    deprecated: changed('"deprecated":true', '"deprecated":false'),
    security: document => ({ ...document, security: [] }),
    limit: changed('"maximum":100', '"maximum":50'),
    status: changed('"pending"', '"reserved"'),
    'new-pet': changed('"required":["name","categoryId"]', '"required":["name"]'),
    responses: changed('"404":', '"410":'),
  }).map(
    ([name, edit]): PlantedFault => ({
      name: `describes another ${name}`,
      caughtBy: `openapi.${name}`,
      wrong: bodies(({ path }) => path === '/openapi.json', edit),
    }),
  ),

  // Beyond the limit
  {
    name: 'never says 429',
    caughtBy: 'limits.exhaust',
    wrong: serve => async request => {
      const given = await serve(request)
      return given.status === 429 ? { ...given, status: 200, body: '[]' } : given
    },
  },
  {
    name: 'rejects the last request of the limit',
    caughtBy: 'limits.whole-budget',
    wrong: answers(
      (request, { headers }) => isSpare(request) && headers[REMAINING] === '0',
      given => ({
        ...failure(429, given),
        headers: { ...given.headers, 'Retry-After': given.headers['Retry-After'] ?? '60' },
      }),
    ),
  },
  {
    name: 'rejects without an Error body',
    caughtBy: 'limits.body',
    wrong: bodies(status(429), ({ code }) => ({ code, error: 'Too Many Requests' })),
  },
  {
    name: 'rejects without rate limit headers',
    caughtBy: 'limits.headers',
    wrong: headers(status(429), () => ({ [RESET]: undefined })),
  },
  {
    name: 'rejects without Retry-After',
    caughtBy: 'limits.retry-after',
    wrong: headers(status(429), () => ({ 'Retry-After': undefined })),
  },
  {
    name: 'lets caches keep a rejection',
    caughtBy: 'limits.no-store',
    wrong: headers(status(429), () => ({ 'Cache-Control': 'public, max-age=60' })),
  },
  {
    name: 'limits all keys together',
    caughtBy: 'limits.other-key',
    wrong: serve => {
      let isExhausted = false
      return async request => {
        const given = await serve(request)
        if (isSpare(request)) {
          isExhausted = given.status === 429
          return given
        }
        return isExhausted ? failure(403, given) : given
      }
    },
  },
  {
    name: 'asks for a longer wait than needed',
    caughtBy: 'limits.retry-after-late',
    wrong: headers(status(429), given => ({
      'Retry-After': String(Number(given['Retry-After']) + 2),
    })),
  },
  {
    name: 'asks for a wait that is too short',
    caughtBy: 'limits.retry-after-early',
    wrong: headers(status(429), given => ({
      'Retry-After': String(Math.ceil(Number(given['Retry-After']) / 2)),
    })),
  },
  {
    name: 'asks for a wait that is a second too short',
    caughtBy: 'limits.retry-after-early',
    wrong: headers(status(429), given => ({
      'Retry-After': String(Number(given['Retry-After']) - 1),
    })),
  },
  {
    name: 'bans for longer than it says',
    caughtBy: 'limits.ban-ends',
    wrong: headers(status(429), given => ({
      'Retry-After': Number(given['Retry-After']) > 61 ? '120' : given['Retry-After'],
    })),
  },
]

function changed(from: string, to: string): (document: Json) => Json {
  return document => {
    const text = toJson(document)
    if (!text.includes(from)) throw new Error(`The description has no ${from}`)
    return JSON.parse(text.replaceAll(from, to)) as Json
  }
}
