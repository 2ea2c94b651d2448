import { parseJson } from '../../../src/index.js'
import {
  answers,
  bodies,
  failure,
  headers,
  isBan,
  isCreate,
  isSpare,
  type PlantedFault,
  REMAINING,
  RESET,
  status,
} from '../faulty-server.js'

export const limitsFaults: readonly PlantedFault[] = [
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
    also: ['limits.ban-ends'],
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
    also: ['limits.ban-ends'],
    wrong: headers(status(429), given => ({
      'Retry-After': String(Math.ceil(Number(given['Retry-After']) / 2)),
    })),
  },
  {
    name: 'bans for longer than it says',
    caughtBy: 'limits.ban-ends',
    wrong: headers(status(429), given => ({
      'Retry-After': Number(given['Retry-After']) > 61 ? '120' : given['Retry-After'],
    })),
  },
  {
    name: 'bans without Retry-After',
    caughtBy: 'limits.ban-ends',
    wrong: headers(isBan, () => ({ 'Retry-After': undefined })),
  },
  {
    name: 'bans with 403, and does not say until when',
    caughtBy: 'limits.ban-ends',
    wrong: answers(isBan, given => ({
      ...failure(403, given),
      headers: { ...given.headers, 'Retry-After': undefined },
    })),
  },
  {
    name: 'creates in spite of 429',
    caughtBy: 'limits.creates-nothing',
    wrong:
      (serve, { store }) =>
      async request => {
        const given = await serve(request)
        if (isCreate(request) && given.status === 429) {
          const { name } = parseJson(request.text) as { name: string }
          await store.createPet({ name, categoryId: 1 })
        }
        return given
      },
  },
]
