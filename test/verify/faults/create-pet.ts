import { parseJson } from '../../../src/index.js'
import { isInt64 } from '../../../src/lib/int64.js'
import {
  type Answer,
  all,
  animals,
  answers,
  anywhere,
  bodies,
  creations,
  failure,
  headers,
  isAnonymous,
  isCreate,
  isPlain,
  type PlantedFault,
  rounded,
  status,
} from '../faulty-server.js'

export const createPetFaults: readonly PlantedFault[] = [
  {
    name: 'creates with an animal of another name',
    caughtBy: 'create.answer',
    also: [
      'create.name-exact',
      'create.name-long',
      'create.name-normalized',
      'create.name-unicode',
    ],
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
      'create.concurrent',
      'create.id-ignored',
      'create.location',
      'create.unique',
      'get.int64',
      'list.created.available',
      'list.created.pending',
      'list.created.sold',
      'list.every-status',
      'list.int64',
      'list.newest',
    ],
    wrong: animals(all(isCreate, status(201)), pet => ({ ...pet, id: undefined })),
  },
  {
    name: 'reuses ids',
    caughtBy: 'create.unique',
    also: [
      'create.concurrent',
      'create.name-exact',
      'create.name-long',
      'create.name-normalized',
      'create.name-unicode',
      'get.created',
      'get.int64',
      'list.fields',
      'list.int64',
      'list.unique',
    ],
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
  ...(['pending', 'sold'] as const).map(
    (name): PlantedFault => ({
      name: `refuses ${name}`,
      caughtBy: `create.status.${name}`,
      wrong: creations(({ status }) => (status === name ? {} : undefined)),
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
    also: ['create.number-forms'],
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
    also: ['create.name-exact', 'create.name-normalized'],
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
    caughtBy: 'create.name-normalized',
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
          const { name } = parseJson(request.text) as { name: string }
          await store.createPet({ name, categoryId: 1 })
        }
        return given
      },
  },
  {
    name: 'fills in a missing name',
    caughtBy: 'create.name-missing',
    also: ['create.member-case'],
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

  {
    name: 'gives one id to creations at the same time',
    caughtBy: 'create.concurrent',
    wrong: serve => {
      let latest: Promise<Answer> | undefined
      return async request => {
        if (!request.text.includes('at once')) return serve(request)
        latest ??= serve(request)
        return latest
      }
    },
  },
  {
    name: 'returns a status that is null',
    caughtBy: 'create.status-null',
    wrong: serve => async request => {
      if (!request.text.includes('"status":null')) return serve(request)
      const text = request.text.replace('"status":null', '"status":"sold"')
      const given = await serve({ ...request, text, bytes: undefined })
      return { ...given, body: given.body.replace('"sold"', 'null') }
    },
  },
  {
    name: 'takes an animal out of another object',
    caughtBy: 'create.wrapped',
    wrong: creations(({ pet }) => (isPlain(pet) ? pet : undefined)),
  },
  {
    name: 'reads numbers with leading zeros',
    caughtBy: 'create.json-numbers',
    wrong: creations((_, text) =>
      text.includes(':01,') ? text.replace(':01,', ':1,') : undefined,
    ),
  },
  {
    name: 'reads strings with raw line ends',
    caughtBy: 'create.json-strings',
    wrong: creations((_, text) =>
      /\n"/.test(text) && !text.includes('//') ? text.replace('\n', '\\n') : undefined,
    ),
  },
  {
    name: 'reads JSON with comments',
    caughtBy: 'create.json-extensions',
    wrong: creations((_, text) =>
      text.includes('/*') ? text.replace(/\/\*.*?\*\//, '') : undefined,
    ),
  },
  {
    name: 'takes NAME for a name',
    caughtBy: 'create.member-case',
    wrong: creations(({ NAME, ...pet }) =>
      NAME === undefined ? undefined : { name: NAME, ...pet },
    ),
  },
]
