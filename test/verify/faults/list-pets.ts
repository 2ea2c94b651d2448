import { parseJson, toJson } from '../../../src/index.js'
import {
  all,
  animals,
  answers,
  bodies,
  failure,
  headers,
  isList,
  type Json,
  type PlantedFault,
  queryOf,
  rounded,
  status,
  withQuery,
} from '../faulty-server.js'

export const listPetsFaults: readonly PlantedFault[] = [
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
      'create.concurrent',
      'get.listed',
      'list.created.available',
      'list.created.pending',
      'list.created.sold',
      'list.every-status',
      'list.int64',
      'list.newest',
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
    also: ['list.encoded', 'list.status-limit'],
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
    also: ['list.animals', 'list.steady', 'list.unique'],
    wrong: answers(
      ({ query }) => query === 'limit=100',
      given => failure(400, given),
    ),
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
        const pets = parseJson(given.body) as Json[]
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

  {
    name: 'hides what is sold',
    caughtBy: 'list.every-status',
    also: ['list.limit-default', 'list.limit-filled'],
    wrong: bodies(all(isList, status(200)), (pets, { query }) =>
      query.includes('status')
        ? pets
        : (pets as unknown as Json[]).filter(pet => pet['status'] !== 'sold'),
    ),
  },
  {
    name: 'lists without the newest',
    caughtBy: 'list.newest',
    also: ['create.concurrent'],
    wrong: bodies(all(isList, status(200)), (pets, { query }) =>
      query === 'limit=100' ? (pets as unknown as Json[]).slice(0, -1) : pets,
    ),
  },
  {
    name: 'lists names in capitals',
    caughtBy: 'list.fields',
    also: [
      'create.id-ignored',
      'create.name-exact',
      'create.name-long',
      'create.name-normalized',
      'create.name-unicode',
      'get.listed',
    ],
    wrong: animals(all(isList, status(200)), pet => ({
      ...pet,
      name: String(pet['name']).toUpperCase(),
    })),
  },
]
