import { parseJson, toJson } from '../../src/index.js'
import {
  type Answer,
  type Asked,
  admits,
  all,
  animals,
  answers,
  anywhere,
  asText,
  created,
  creations,
  failure,
  gotten,
  headers,
  isAnonymous,
  isBan,
  isCreate,
  isGet,
  isList,
  isSpare,
  type Json,
  key,
  listed,
  lists,
  MAIN_KEY,
  NO_LIMITS,
  type PlantedFault,
  pages,
  queries,
  queryOf,
  REMAINING,
  RESET,
  refuses,
  rounded,
  status,
  storesRefused,
  type Where,
  type Wrong,
} from './faulty-server.js'

const isStranger = (request: Asked) => key(request) !== `Bearer ${MAIN_KEY}`
const hasStatus = (request: Asked) => isList(request) && queryOf(request).has('status')
const isFiltered: Where = hasStatus
const isKnownId = ({ path }: Asked) => /^\/v1\/pets\/[1-9]\d{0,5}$/.test(path)

/** Mistakes that implementers make: some check sees each of them. */
export const COMMON_MISTAKES = {
  'a cache shows a filtered list to strangers': cached(isFiltered),
  'a cache shows a page with a limit to strangers': cached(({ query }) => query === 'limit=10'),
  'a cache shows an animal to strangers': cached(isGet),
  'a cache shows the list with an empty query to strangers': cached(({ url }) => url.endsWith('?')),
  'a cache shows an encoded address to strangers': cached(({ url }) => url.includes('%31')),
  'filtered lists need no key': admits(request => hasStatus(request) && isAnonymous(request)),
  'filtered lists take any key': admits(request => hasStatus(request) && !isAnonymous(request)),
  'a list with an empty query needs no key': admits(
    request => isList(request) && request.url.endsWith('?') && isAnonymous(request),
  ),
  'existing animals need no key': admits(
    request => isGet(request) && isKnownId(request) && isAnonymous(request),
  ),
  'existing animals take any key': admits(
    request => isGet(request) && isKnownId(request) && !isAnonymous(request),
  ),
  'HEAD of an animal needs no key': admits(
    request => request.method === 'HEAD' && isKnownId(request) && isStranger(request),
  ),
  'without a key, an existing animal is 404': refuses(
    404,
    request => isGet(request) && isKnownId(request) && isAnonymous(request),
  ),
  'keys are compared by their length': admits(
    request => key(request).length === `Bearer ${MAIN_KEY}`.length,
  ),
  'the last character of a key is not compared': admits(
    request =>
      key(request).length === `Bearer ${MAIN_KEY}`.length &&
      key(request).startsWith(`Bearer ${MAIN_KEY.slice(0, -1)}`),
  ),
  'the content type is checked before the key': refuses(
    415,
    request => isCreate(request) && isStranger(request) && isText(request),
  ),
  'the id is checked before the key': refuses(
    400,
    request => isGet(request) && isStranger(request) && /[a-z]$/.test(request.path),
  ),
  '401 of an unknown key has no challenge': headers(
    all(status(401), request => !isAnonymous(request)),
    () => ({ 'WWW-Authenticate': undefined }),
  ),
  '401 of a filtered list has no challenge': headers(all(isFiltered, status(401)), () => ({
    'WWW-Authenticate': undefined,
  })),
  '401 of a filtered list is a page': pages(all(isFiltered, status(401))),
  '401 of an unknown key is a page': pages(all(status(401), request => !isAnonymous(request))),
  '400 of malformed JSON is a page': pages(all(status(400), ({ text }) => text === '{')),
  '404 of an id that is no number is a page': pages(({ path }) => path === '/v1/pets/verify', 404),
  '401 of an existing animal is a page': pages(all(isKnownId, status(401))),

  '\\u escapes are refused': refusesText(/\\u[\da-f]{4}/i),
  '\\u escapes stay as they are': created(
    named((name, text) => (/\\u00e9/i.test(text) ? name.replaceAll('é', '\\u00e9') : name)),
  ),
  'a surrogate pair of escapes becomes two characters': created(
    named((name, text) => (/\\ud83d/i.test(text) ? name.replaceAll('🐈', '\ufffd\ufffd') : name)),
  ),
  '\\/ stays as it is': created(
    named((name, text) => (text.includes('\\/') ? name.replaceAll('/', '\\/') : name)),
  ),
  '\\b and \\f are lost': created(named(name => name.replace(/[\b\f]/g, ''))),
  'escaped names of fields are unknown': refusesText(/"[^"]*\\u[^"]*"\s*:/),
  'white space between tokens is refused': refusesText(/"\s+:|:\s+|,\s+"/),
  'a tab between tokens is refused': refusesText(/[{,:]\t/),
  'a line break after the body is refused': refusesText(/\}\s*\n$/),
  'white space before the body is refused': refusesText(/^\s{1,9}\{/),
  'categoryId must come after name': refusesText(/^\s*\{\s*"categoryId"[^}]*"name"/),
  'negative categories become positive': created(pet =>
    isBetween(pet, -(2n ** 63n), 0n)
      ? { ...pet, categoryId: -BigInt(`${pet['categoryId']}`) }
      : pet,
  ),
  'negative categories are unsigned': created(pet =>
    isBetween(pet, -(2n ** 63n), 0n)
      ? { ...pet, categoryId: 2n ** 64n + BigInt(`${pet['categoryId']}`) }
      : pet,
  ),
  'negative categories are rounded': created(pet =>
    isBetween(pet, -(2n ** 63n), -(2n ** 53n)) ? rounded(pet) : pet,
  ),
  'negative categories are rounded once stored': animals(
    all(request => !isCreate(request), status(200)),
    pet => (isBetween(pet, -(2n ** 63n), -(2n ** 53n)) ? rounded(pet) : pet),
  ),
  'negative categories are refused': creations(({ categoryId }) =>
    Number(categoryId) < 0 ? {} : undefined,
  ),
  'charset=UTF-8 in upper case is refused': refuses(415, ({ headers }) =>
    String(headers['content-type']).endsWith('charset=UTF-8'),
  ),
  'a parameter of the content type without a space is refused': refuses(415, ({ headers }) =>
    String(headers['content-type']).includes('json;charset'),
  ),

  'a filtered list has no default limit': queries(
    query => query.has('status') && !query.has('limit'),
    query => query.set('limit', '100'),
  ),
  'a filtered list has 10 animals by default': queries(
    query => query.has('status') && !query.has('limit'),
    query => query.set('limit', '10'),
  ),
  'the default limit counts before the filter': (serve, { store }) => {
    return async request => {
      const given = await serve(request)
      if (!hasStatus(request) || queryOf(request).has('limit') || given.status !== 200) return given
      const first = (await store.listPets()).map(({ id }) => id)
      const kept = (parseJson(given.body) as Json[]).filter(({ id }) => first.includes(id as never))
      return { ...given, body: toJson(kept) }
    }
  },
  'no list has more than 50 animals': lists(anywhere, pets => pets.slice(0, 50)),
  'no list has more than 20 animals': lists(anywhere, pets => pets.slice(0, 20)),
  'filtered lists are text': asText(all(isFiltered, status(200))),
  'filtered lists have no categories': lists(isFiltered, pets =>
    pets.map(({ categoryId: _, ...pet }) => pet),
  ),
  'filtered lists repeat an animal': lists(isFiltered, pets => [...pets, ...pets.slice(0, 1)]),
  'filtered lists round categories': lists(isFiltered, pets => pets.map(rounded)),
  'filtered lists change names': lists(isFiltered, pets =>
    pets.map(pet => ({ ...pet, name: String(pet['name']).toUpperCase() })),
  ),
  'lists without a limit change names': lists(
    ({ query }) => query === '',
    pets => pets.map(pet => ({ ...pet, name: String(pet['name']).toUpperCase() })),
  ),

  'the reset is the beginning of the window': resets(reset => reset - 60),
  'the reset of 404 is in the past': resets(reset => reset - 3_600, status(404)),
  'the reset of 429 is in the past': resets(reset => reset - 3_600, status(429)),
  'the reset is in milliseconds': resets(reset => reset * 1_000),
  'the remaining requests are no integer': headers(anywhere, given => ({
    [REMAINING]: given[REMAINING] && `${given[REMAINING]}.5`,
  })),
  'more requests remain than the limit': headers(anywhere, () => ({ [REMAINING]: '1001' })),
  '405 has no rate limit headers': headers(status(405), () => NO_LIMITS),
  'a ban has no rate limit headers': headers(isBan, () => NO_LIMITS),
  'a ban has no Error body': pages(isBan),

  'in a full store, lists trim names': inFullStore(listed(named(name => name.trim()))),
  'in a full store, names are stored trimmed': inFullStore(
    animals(
      all(request => !isCreate(request), status(200)),
      named(name => name.trim()),
    ),
  ),
  'in a full store, lists round categories': inFullStore(listed(rounded)),
  'in a full store, lists change categories': inFullStore(
    listed(pet => (pet['categoryId'] === 7 ? { ...pet, categoryId: 8 } : pet)),
  ),
  'in a full store, one of some concurrent creates is lost': inFullStore(serve => {
    let hidden: unknown
    return async request => {
      const given = await serve(request)
      if (request.text.includes('at once 3')) hidden = (parseJson(given.body) as Json)['id']
      if (given.status !== 200 || !isList(request)) return given
      const kept = (parseJson(given.body) as Json[]).filter(({ id }) => id !== hidden)
      return { ...given, body: toJson(kept) }
    }
  }),
  'in a full store, refused animals are stored': inFullStore(
    storesRefused(({ text }) => text.includes('"lost"')),
  ),
  'in a full store, animals beyond the limit are stored': inFullStore(
    storesRefused((_, given) => given.status === 429),
  ),

  'getPet finds an animal a second late': lags(isGet, 1_000),
  'lists show an animal a second late': lags(isList, 1_000),
  'filtered lists show an animal a second late': lags(hasStatus, 1_000),
  'lists never show an animal without a status': (serve, world) => {
    const hidden = new Set<unknown>()
    return lists(anywhere, pets => pets.filter(({ id }) => !hidden.has(id)))(async request => {
      const given = await serve(request)
      const isBare = isCreate(request) && given.status === 201 && !/"status"/.test(request.text)
      if (isBare) hidden.add((parseJson(given.body) as Json)['id'])
      return given
    }, world)
  },
  'getPet shows another name for an animal without a status': gotten(pet =>
    String(pet['name']).includes('without status') ? { ...pet, name: 'Rex' } : pet,
  ),
} satisfies Readonly<Record<string, Wrong | PlantedFault>>

/** Shows others what the key was allowed to see at the same address. */
function cached(where: Where): Wrong {
  return serve => {
    const stored = new Map<string, Answer>()
    return async request => {
      const known = isStranger(request) && !isSpare(request) ? stored.get(request.url) : undefined
      if (known && request.method === 'GET') return known
      const given = await serve(request)
      if (given.status === 200 && request.method === 'GET' && where(request, given)) {
        stored.set(request.url, given)
      }
      return given
    }
  }
}

/** Refuses creates whose body, a valid one, matches. */
function refusesText(pattern: RegExp): Wrong {
  return answers(
    all(isCreate, ({ text }) => pattern.test(text)),
    given => (given.status === 201 ? failure(400, given) : given),
  )
}

function isText({ headers }: Asked): boolean {
  return !String(headers['content-type']).includes('json')
}

function named(edit: (name: string, text: string) => string) {
  return (pet: Json, text = ''): Json => ({ ...pet, name: edit(String(pet['name']), text) })
}

function isBetween({ categoryId }: Json, above: bigint, below: bigint): boolean {
  const id = /^-?\d+$/.test(`${categoryId}`) ? BigInt(`${categoryId}`) : 0n
  return id > above && id < below
}

function resets(edit: (reset: number) => number, where = anywhere): Wrong {
  return headers(where, given => ({ [RESET]: given[RESET] && String(edit(Number(given[RESET]))) }))
}

function inFullStore(wrong: Wrong): PlantedFault {
  return { wrong, animals: 40 }
}

/** Hides new animals for some time. */
function lags(where: (request: Asked) => boolean, ms: number): Wrong {
  return (serve, { now }) => {
    const since = new Map<unknown, number>()
    const isNew = ({ id }: Json) => now() < (since.get(String(id)) ?? 0)
    return async request => {
      const given = await serve(request)
      if (isCreate(request) && given.status === 201) {
        since.set(String((parseJson(given.body) as Json)['id']), now() + ms)
      }
      if (given.status !== 200 || given.body === '' || !where(request)) return given
      const value = parseJson(given.body) as Json | Json[]
      if (Array.isArray(value)) return { ...given, body: toJson(value.filter(pet => !isNew(pet))) }
      return isNew(value) ? failure(404, given) : given
    }
  }
}
