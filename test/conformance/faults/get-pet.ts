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
]
