import { parseJson, toJson } from '../../src/index.js'
import { isInt64 } from '../../src/lib/int64.js'
import {
  type Answer,
  type Asked,
  admits,
  all,
  animals,
  answers,
  anywhere,
  asText,
  bodies,
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
  isPlain,
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

const LISTED = /^(create\.concurrent|get\.listed|list\.(created|int64|newest))$/

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

const unknownPath = succeeds(200, ({ path }) => path === '/v1/verify-unknown')
const toBrowsers = pages(
  all(status(404), ({ headers }) => String(headers['accept']).startsWith('text/html')),
)

/** Servers for each check, by the id of the check that names what is wrong with them. */
const FAULTS: Readonly<Record<string, Wrong | readonly Wrong[] | Faults>> = {
  'auth.list': {
    wrong: [
      admits(request => isList(request) && isAnonymous(request) && request.query === ''),
      admits(request => isList(request) && !isAnonymous(request) && !isSpare(request)),
      admits(request => request.query === 'limit=0'),
    ],
    also: /^(auth\.(again\.list|exact|headers|key-case|path|placeholder|scheme|single)|robust\.long-key)$/,
  },
  'auth.create': [
    admits(request => isCreate(request) && isAnonymous(request) && request.text !== '{'),
    admits(request => isCreate(request) && !isAnonymous(request)),
    admits(request => isCreate(request) && request.text === '{'),
  ],
  'auth.get': { wrong: admits(isGet), also: /^auth\.again\.get$/ },
  'auth.exact': {
    wrong: [
      admits(request => key(request).startsWith(`Bearer ${MAIN_KEY.slice(0, -1)}`)),
      admits(request => key(request).slice(7) in {} && key(request) !== ''),
    ],
    also: /^auth\.single$/,
  },
  'auth.single': {
    wrong: admits(request => key(request).split(' ')[1] === MAIN_KEY),
    also: /^auth\.scheme$/,
  },
  'auth.scheme': admits(request => key(request) === MAIN_KEY),
  'auth.placeholder': [
    admits(request => key(request) === 'Bearer undefined'),
    admits(request => key(request) === 'Bearer *'),
  ],
  'auth.key-case': admits(request => key(request).toLowerCase() === `bearer ${MAIN_KEY}`),
  'auth.query': admits(request => queryOf(request).get('api_key') === MAIN_KEY),
  'auth.headers': [
    admits(({ headers }) => headers['x-api-key'] === MAIN_KEY),
    admits(({ headers }) => headers['x-forwarded-for'] === '127.0.0.1'),
  ],
  'auth.path': {
    wrong: [
      succeeds(200, request => isAnonymous(request) && request.path.endsWith('/PETS'), '[]'),
      admits(request => request.method === 'HEAD' && isAnonymous(request)),
    ],
    also: /^auth\.again\.(get|list)$/,
  },
  'auth.again.list': COMMON_MISTAKES['a cache shows a filtered list to strangers'],
  'auth.again.get': COMMON_MISTAKES['a cache shows an animal to strangers'],
  'auth.before-id': COMMON_MISTAKES['the id is checked before the key'],
  'auth.scheme-case': serve => request =>
    serve(
      key(request).startsWith('Bearer')
        ? request
        : { ...request, headers: { ...request.headers, authorization: '' } },
    ),
  'auth.challenge': headers(all(isCreate, status(401)), () => ({ 'WWW-Authenticate': undefined })),
  'auth.challenge-scheme': headers(status(401), () => ({
    'WWW-Authenticate': 'Basic realm="pets"',
  })),
  'auth.echo': bodies(status(401), (error, request) => ({ ...error, message: `${key(request)}?` })),

  'create.answer': {
    wrong: [
      created(pet => ({ ...pet, name: 'Rex' })),
      created(pet => (pet['status'] === 'sold' ? { ...pet, status: undefined } : pet)),
    ],
    also: /^create\.(json-forms|name-.*)$/,
  },
  'create.unique': {
    wrong: [
      animals(anywhere, pet => ({ ...pet, id: Number(pet['id']) % 3 })),
      created(({ id: _, ...pet }) => pet),
    ],
    also: /^(create\.(concurrent|id-ignored|location|name-)|get\.(created|int64|listed|newest)|list\.)/,
  },
  'create.concurrent': serve => {
    let latest: Promise<Answer> | undefined
    return async request => {
      if (!request.text.includes('at once')) return serve(request)
      latest ??= serve(request)
      return latest
    }
  },
  'create.id-ignored': created((pet, text) => {
    const [, id] = /"id":(\d+)/.exec(text) ?? []
    return id === undefined ? pet : { ...pet, id: Number(id) }
  }),
  'create.status-optional': {
    wrong: creations(({ status }) => (status === undefined ? {} : undefined)),
    also: /^robust\.pollution$/,
  },
  'create.status-null': serve => async request => {
    if (!request.text.includes('"status":null')) return serve(request)
    const text = request.text.replace('"status":null', '"status":"sold"')
    const given = await serve({ ...request, text, bytes: undefined })
    return { ...given, body: given.body.replace('"sold"', 'null') }
  },
  'create.int64': {
    wrong: [
      created(pet => (Number(pet['categoryId']) < 2 ** 60 ? rounded(pet) : pet)),
      created(pet => (Number(pet['categoryId']) > 2 ** 60 ? rounded(pet) : pet)),
      answers(all(isCreate, status(201)), given => ({
        ...given,
        body: given.body.replace('-9223372036854775808', '9223372036854775808'),
      })),
      created(pet => (pet['categoryId'] === 0 ? { ...pet, categoryId: null } : pet)),
    ],
    also: /^create\.number-forms$/,
  },
  'create.json-forms': COMMON_MISTAKES['white space between tokens is refused'],
  'create.name-escaped': COMMON_MISTAKES['\\u escapes stay as they are'],
  'create.any-category': creations(({ categoryId }) =>
    typeof categoryId === 'bigint' || Number(categoryId) > 2 ** 31 ? {} : undefined,
  ),
  'create.number-forms': created((pet, text) =>
    text.includes(':1e3') ? { ...pet, categoryId: '1e3' } : pet,
  ),
  'create.name-exact': {
    wrong: [
      created(named(name => name.replace(/[^\x00-\x7f]/g, '?'))),
      created(named(name => name.trim())),
      created(named(name => name.slice(0, 1).toUpperCase() + name.slice(1))),
      created(named(name => name.normalize('NFC'))),
    ],
    also: /^create\.name-/,
  },
  'create.name-long': created(named(name => name.slice(0, 255))),
  'create.charset': refuses(415, ({ headers }) =>
    /charset=utf-8/.test(String(headers['content-type'])),
  ),
  'create.media-type-case': refuses(415, ({ headers }) =>
    /^Application/.test(String(headers['content-type'])),
  ),
  'create.location': headers(all(isCreate, status(201)), () => ({ Location: '/v1/pets/4711' })),
  'create.refused-unstored': storesRefused(({ text }) => text.includes('"lost"')),
  'create.required': [
    creations(pet => ('categoryId' in pet ? withDefaults({ name: 'Rex' }, pet) : undefined)),
    creations(pet => ('name' in pet ? withDefaults({ categoryId: 1 }, pet) : undefined)),
    refuses(422, ({ text }, given) => text === '{}' && given.status === 400),
  ],
  'create.name-type': [
    changed('name', name => (name && typeof name !== 'string' ? String(name) : undefined)),
    takes('name', null, 'null'),
  ],
  'create.category-type': [
    changed('categoryId', id => (typeof id === 'string' ? Number(id) : undefined)),
    takes('categoryId', true, 1),
    takes('categoryId', null, 0),
    takes('categoryId', 1.5, 1),
    changed('categoryId', id =>
      typeof id === 'bigint' && !isInt64(id) ? 2n ** 63n - 1n : undefined,
    ),
  ],
  'create.status-value': [
    takes('status', 'lost', 'sold'),
    takes('status', 'Available', 'available'),
    takes('status', '', 'available'),
    takes('status', 1, 'available'),
  ],
  'create.not-an-animal': [
    refuses(500, ({ text }) => text === '[]'),
    creations(({ pet }) => (isPlain(pet) ? pet : undefined)),
  ],
  'create.malformed': [
    succeeds(201, request => isCreate(request) && request.text === '' && !isAnonymous(request)),
    reads(',}', '}'),
    reads(':01,', ':1,'),
    creations((_, text) => (/\w\n"/.test(text) ? text.replace('\n"', '\\n"') : undefined)),
    reads('/* verify */', ''),
  ],

  'get.answer': {
    wrong: gotten(pet => ({ ...pet, id: Number(pet['id']) + 1 })),
    also: /^(create\.location|get\.listed)$/,
  },
  'get.created': { wrong: gotten(({ status: _, ...pet }) => pet), also: /^get\.listed$/ },
  'get.listed': {
    wrong: gotten(pet => (pet['categoryId'] === 1 ? { ...pet, categoryId: 2 } : pet)),
    also: /^get\.created$/,
  },
  'get.int64': gotten(rounded),
  'get.absent': {
    wrong: succeeds(200, all(isGet, status(404)), 'null'),
    also: /^get\.(exact-id|other-id|spelling)$/,
  },
  'get.newest': COMMON_MISTAKES['getPet finds an animal a second late'],
  'get.exact-id': {
    wrong: asked(/^\/v1\/pets\/[1-9]\d*(?=\D)/, ([path]) => path),
    also: /^get\.spelling$/,
  },
  'get.other-id': asked(
    /^\/v1\/pets\/([1-9]\d*)$/,
    ([, id = '']) => `/v1/pets/${BigInt(id) % 2n ** 32n}`,
  ),
  'get.spelling': asked(
    /^\/v1\/pets\/0x?[\da-f]+$/,
    ([path]) => `/v1/pets/${Number(path.slice(9))}`,
  ),

  'list.empty': {
    wrong: answers(
      (request, given) => isList(request) && given.body === '[]',
      given => ({ ...given, body: 'null' }),
    ),
    also: /^list\./,
  },
  'list.answer': {
    wrong: lists(
      ({ query }) => query === '',
      data => ({ data }),
    ),
    also: /^list\.limit-default$/,
  },
  'list.animals': {
    wrong: [
      listed(pet => ({ ...pet, id: String(pet['id']) })),
      lists(isWhole, pets => [...pets, pets[0]]),
    ],
    also: LISTED,
  },
  'list.limit': {
    wrong: [
      queries(
        query => Number(query.get('limit') ?? 20) < 20,
        query => query.set('limit', '20'),
      ),
      refuses(400, isWhole),
    ],
    also: /^list\.(animals|encoded|status-limit|steady)$/,
  },
  'list.limit-default': {
    wrong: [
      queries(
        query => !query.has('limit'),
        query => query.set('limit', '10'),
      ),
      COMMON_MISTAKES['a filtered list has no default limit'],
    ],
    animals: 10,
  },
  'list.limit-filled': lists(
    ({ query }) => query === 'limit=2',
    pets => pets.slice(0, 1),
  ),
  'list.limit-above': {
    wrong:
      (serve, { store }) =>
      async request => {
        const given = await serve(request)
        if (request.query !== 'limit=101') return given
        const pets = await store.listPets({ limit: 100 })
        return { ...given, status: 200, body: toJson([...pets, pets[0]]) }
      },
    animals: 40,
  },
  'list.encoded': serve => request =>
    serve(request.query === 'limit=%31' ? { ...request, query: '' } : request),
  'list.status': {
    wrong: queries(
      query => query.get('status') === 'sold' && query.get('limit') === '100',
      query => query.delete('status'),
    ),
    also: /^list\.limit-filled$/,
  },
  'list.created': {
    wrong: [
      lists(
        request => queryOf(request).get('status') === 'sold',
        () => [],
      ),
      lists(
        ({ query }) => !query.includes('status'),
        pets => pets.filter(pet => pet['status'] !== 'sold'),
      ),
    ],
    also: /^list\.(limit-(default|filled)|newest)$/,
  },
  'list.status-limit': lists(
    ({ query }) => query === 'status=sold&limit=1',
    () => [],
  ),
  'list.newest': COMMON_MISTAKES['lists show an animal a second late'],
  'list.fields': {
    wrong: listed(named(name => name.toUpperCase())),
    also: /^(create\.(id-ignored|name-.*)|get\.listed)$/,
  },
  'list.status-unknown': serve => request =>
    serve(request.query === 'status=lost' ? { ...request, query: '' } : request),
  'list.steady': (serve, world) => {
    let turn = 0
    return lists(anywhere, pets => {
      const at = turn++ % Math.max(1, pets.length)
      return [...pets.slice(at), ...pets.slice(0, at)]
    })(serve, world)
  },
  'list.int64': listed(pet => (Number(pet['categoryId']) < 2 ** 60 ? rounded(pet) : pet)),
  'list.unknown-path': unknownPath,

  'http.content-type': [
    asText(all(isCreate, status(201))),
    asText(all(isGet, status(200))),
    asText(all(isList, status(200))),
  ],
  'error.400': {
    wrong: bodies(status(400), ({ code: _, ...error }) => error),
    also: /^error\.code$/,
  },
  'error.401': bodies(status(401), error => ({ ...error, status: 500 })),
  'error.404': asText(status(404)),
  'error.as-usual': {
    wrong: [
      pages(({ path }) => path === '/v1/verify-unknown'),
      // The unknown path is not judged, the page for browsers is.
      (serve, world) => toBrowsers(unknownPath(serve, world), world),
    ],
    also: /^(error\.404|list\.unknown-path)$/,
  },
  'error.code': bodies(status(400, 401, 404), error => ({ ...error, code: 'error' })),
  'error.internals': bodies(status(400), error => ({
    ...error,
    message: 'No\n    at parse (body.js:1:2)',
  })),

  'ratelimit.headers': headers(status(404), () => NO_LIMITS),
  'ratelimit.reset-future': {
    wrong: COMMON_MISTAKES['the reset is the beginning of the window'],
    also: /^ratelimit\.headers$/,
  },
  'ratelimit.counts': {
    wrong: (serve, world) => {
      let sent = 0
      return headers(
        request => !isSpare(request),
        given => ({ [REMAINING]: given[REMAINING] && String(40 + (sent++ % 900)) }),
      )(serve, world)
    },
    also: /^ratelimit\.headers$/,
  },

  'deprecation.announced': headers(isGet, () => ({ Sunset: undefined, Link: undefined })),
  'deprecation.sunset': headers(isGet, () => ({ Sunset: 'Thu, 12 Dec 2030 00:00:00 GMT' })),
  'deprecation.date': headers(isGet, () => ({ Deprecation: 'true' })),
  'deprecation.only-get': headers(isList, () => ({ Sunset: 'Thu, 05 Dec 2030 00:00:00 GMT' })),

  'openapi.document': described('"openapi":"3.1.1"', '"openapi":"2.0"'),
  'openapi.version': described('"version":"1.0.0"', '"version":"2.0.0"'),
  'openapi.operations': described('"operationId":"listPets"', '"operationId":"pets"'),
  'openapi.deprecated': described('"deprecated":true', '"deprecated":false'),
  'openapi.security': described('"security":[{"apiKey":[]}]', '"security":[]'),
  'openapi.limit': described('"maximum":100', '"maximum":50'),
  'openapi.status': described('"pending"', '"reserved"'),
  'openapi.new-pet': described('"required":["name","categoryId"]', '"required":["name"]'),
  'openapi.responses': described('"404":', '"410":'),

  'idempotency.replay': { wrong: keys(() => undefined), also: /^idempotency\./ },
  'idempotency.replayed': headers(isCreate, () => ({ 'Idempotent-Replayed': undefined })),
  'idempotency.reused': refuses(409, all(isCreate, status(422))),
  'idempotency.other-key': {
    wrong: keys((key, request) => key && keyOf(request)),
    also: /^idempotency\.(malformed|reused)$/,
  },
  'idempotency.without-key': {
    wrong: keys((key, request) => key ?? keyOf(request)),
    also: /^create\.unique$/,
  },
  'idempotency.concurrent'(serve) {
    const inFlight = new Set<string>()
    return async request => {
      const key = request.headers['idempotency-key'] ?? ''
      const isUnderWay = key !== '' && inFlight.has(key)
      inFlight.add(key)
      const given = await serve(isUnderWay ? withKey(request, undefined) : request)
      inFlight.delete(key)
      return given
    }
  },
  'idempotency.refused'(serve) {
    const refusals = new Map<string, Answer>()
    return async request => {
      const key = request.headers['idempotency-key'] ?? ''
      const given = refusals.get(key) ?? (await serve(request))
      if (key !== '' && given.status === 400) refusals.set(key, given)
      return given
    }
  },
  'idempotency.string': refuses(400, ({ headers }) =>
    Boolean(headers['idempotency-key']?.includes('\\')),
  ),
  'idempotency.malformed': keys(key => (key?.endsWith('"') ? key : undefined)),

  'limits.exhaust': succeeds(200, status(429), '[]'),
  'limits.whole-budget': answers(
    (request, { headers }) => isSpare(request) && headers[REMAINING] === '0',
    given => ({
      ...failure(429, given),
      headers: { ...given.headers, 'Retry-After': given.headers['Retry-After'] ?? '60' },
    }),
  ),
  'limits.body': bodies(status(429), ({ code }) => ({ code, error: 'Too Many Requests' })),
  'limits.remaining': headers(status(429), () => ({ [REMAINING]: '1' })),
  'limits.retry-after': {
    wrong: headers(status(429), () => ({ 'Retry-After': undefined })),
    also: /^limits\.ban-ends$/,
  },
  'limits.other-key': serve => {
    let isExhausted = false
    return async request => {
      const given = await serve(request)
      if (isSpare(request)) isExhausted = given.status === 429
      return isExhausted && !isSpare(request) ? failure(403, given) : given
    }
  },
  'limits.creates-nothing': storesRefused((_, given) => given.status === 429),
  'limits.retry-after-late': waits(seconds => seconds + 2),
  'limits.retry-after-early': {
    wrong: waits(seconds => Math.ceil(seconds / 2)),
    also: /^limits\.ban-ends$/,
  },
  'limits.ban-ends': answers(isBan, given => ({
    ...given,
    headers: { ...given.headers, 'Retry-After': '120' },
  })),

  ...Object.fromEntries(
    Object.entries<(request: Asked) => boolean>({
      nesting: ({ text }) => text.includes('[[[[['),
      'long-number': ({ text }) => text.includes('9'.repeat(1_000)),
      'large-body': ({ text }) => text.startsWith(' '.repeat(1_000)),
      surrogate: ({ text }) => text.includes('\\ud800'),
      'content-type': ({ headers }) => headers['content-type'] === 'text/plain',
      'content-encoding': ({ headers }) => headers['content-encoding'] === 'gzip',
      members: ({ text }) => text.includes('"hasOwnProperty":1'),
      path: ({ path }) => path.includes('%00'),
      'long-key': ({ headers }) => String(headers['authorization']).length > 5_000,
      headers: ({ headers }) => String(headers['cookie']).startsWith('a=%'),
      utf8: ({ text }) => text.includes('\ufffd'),
      head: ({ method, headers }) => method === 'HEAD' && 'authorization' in headers,
    }).map(([name, where]) => [
      `robust.${name}`,
      { wrong: refuses(500, where), also: /^(auth\.(create|path)|ratelimit\.headers)$/ },
    ]),
  ),
  'robust.query': [
    succeeds(200, ({ query }) => query === 'limit=1&limit=2', `[${'{},'.repeat(100)}{}]`),
    ...['limit=0', 'limit=many', 'verify=1'].map(query =>
      refuses(500, request => request.query === query && 'authorization' in request.headers),
    ),
  ],
  'robust.pollution': created((pet, text) =>
    text.includes('"__proto__":{') ? { ...pet, status: 'sold' } : pet,
  ),
  'robust.method': succeeds(200, ({ method }) => method === 'PROPFIND'),
  'robust.allow': headers(status(405), () => ({ Allow: undefined })),
  'robust.alive': {
    wrong: serve => {
      let isBroken = false
      return async request => {
        const given = await serve(request)
        isBroken ||= request.method === 'PROPFIND'
        return isBroken && given.status === 200 ? failure(404, given) : given
      }
    },
    also: /^robust\.head$/,
  },
}

export const PLANTED_FAULTS: readonly (PlantedFault & { readonly id: string })[] = Object.entries(
  FAULTS,
).flatMap(([id, given]) => {
  const { wrong, ...about } =
    typeof given === 'object' && 'wrong' in given ? given : { wrong: given }
  return [wrong].flat().map(wrong => ({ id, wrong, ...about }))
})

type Faults = Omit<PlantedFault, 'wrong'> & { readonly wrong: Wrong | readonly Wrong[] }

/** Accepts what it should refuse. */
function succeeds(code: number, where: Where, body?: string): Wrong {
  return answers(where, given => ({ ...given, status: code, body: body ?? given.body }))
}

function isWhole({ query }: Asked): boolean {
  return query === 'limit=100'
}

/** Undefined where nothing is missing. */
function withDefaults(defaults: Json, pet: Json): Json | undefined {
  return Object.keys(defaults).every(name => name in pet) ? undefined : { ...defaults, ...pet }
}

/** Changes a field before the store sees it. */
function changed(field: string, edit: (value: unknown) => unknown): Wrong {
  return creations(pet => {
    const value = field in pet ? edit(pet[field]) : undefined
    return value === undefined ? undefined : { ...pet, [field]: value }
  })
}

/** Takes one value of a field for another. */
function takes(field: string, value: unknown, as: unknown): Wrong {
  return changed(field, given => (given === value ? as : undefined))
}

/** Reads a text as another before it is parsed. */
function reads(from: string, to: string): Wrong {
  return creations((_, text) => (text.includes(from) ? text.replace(from, to) : undefined))
}

/** Changes some paths of getPet before the store sees them. */
function asked(pattern: RegExp, edit: (found: RegExpExecArray) => string): Wrong {
  return serve => request => {
    const found = isGet(request) ? pattern.exec(request.path) : null
    return serve(found ? { ...request, path: edit(found) } : request)
  }
}

function described(from: string, to: string): Wrong {
  return bodies(
    ({ path }) => path === '/openapi.json',
    document => {
      const text = toJson(document)
      if (!text.includes(from)) throw new Error(`The description has no ${from}`)
      return JSON.parse(text.replaceAll(from, to))
    },
  )
}

function waits(edit: (seconds: number) => number): Wrong {
  return headers(status(429), given => ({
    'Retry-After': String(edit(Number(given['Retry-After']))),
  }))
}

/** Changes the keys of creates before the store sees them; undefined leaves the header out. */
function keys(edit: (key: string | undefined, request: Asked) => string | undefined): Wrong {
  return serve => request =>
    serve(
      isCreate(request)
        ? withKey(request, edit(request.headers['idempotency-key'], request))
        : request,
    )
}

function withKey(request: Asked, key: string | undefined): Asked {
  return { ...request, headers: { ...request.headers, 'idempotency-key': key } }
}

/** A key made from the animal. */
function keyOf({ text }: Asked): string {
  const digits = [...text].map(character => character.codePointAt(0)?.toString(36))
  return `"${digits.join('').slice(0, 255)}"`
}

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
