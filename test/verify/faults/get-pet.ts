import {
  all,
  animals,
  answers,
  failure,
  headers,
  isGet,
  type PlantedFault,
  rounded,
  status,
} from '../faulty-server.js'

export const getPetFaults: readonly PlantedFault[] = [
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
    also: ['get.created'],
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
    also: ['get.exact-id', 'get.not-an-id', 'get.other-id'],
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

  {
    name: 'takes the digits at the beginning of an id',
    caughtBy: 'get.exact-id',
    also: ['get.not-an-id'],
    wrong: serve => request => {
      const [path] = /^\/v1\/pets\/[1-9]\d*(?=\D)/.exec(request.path) ?? []
      return serve(path === undefined || !isGet(request) ? request : { ...request, path })
    },
  },
  {
    name: 'keeps only 32 bits of an id',
    caughtBy: 'get.other-id',
    wrong: serve => request => {
      const [, id] = /^\/v1\/pets\/(\d{1,18})$/.exec(request.path) ?? []
      return serve(
        id === undefined ? request : { ...request, path: `/v1/pets/${BigInt(id) % 2n ** 32n}` },
      )
    },
  },
]
