import { parseJson } from '../../../src/index.js'
import {
  answers,
  bodies,
  failure,
  headers,
  isBan,
  isCreate,
  isSpare,
  key,
  MAIN_KEY,
  type PlantedFault,
  REMAINING,
  RESET,
  SPARE_KEY,
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
    name: 'answers 503 with a page over the limit',
    caughtBy: 'limits.exhaust',
    also: ['limits.other-key'],
    wrong: answers(status(429), () => ({
      status: 503,
      headers: { 'Content-Type': 'text/html' },
      body: '<h1>503 Service Temporarily Unavailable</h1>',
    })),
  },
  {
    name: 'fails for the spare key',
    caughtBy: 'limits.exhaust',
    also: ['limits.other-key'],
    wrong: answers(isSpare, given => failure(500, given)),
  },
  {
    name: 'answers 403 without rate limit headers over the limit',
    caughtBy: 'limits.exhaust',
    wrong: answers(status(429), () => ({ status: 403, headers: {}, body: '' })),
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
    name: 'asks for a wait that is a second too short',
    caughtBy: 'limits.retry-after-early',
    also: ['limits.ban-ends'],
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
  {
    name: 'bans without Retry-After',
    caughtBy: 'limits.ban-ends',
    wrong: headers(isBan, () => ({ 'Retry-After': undefined })),
  },
  {
    name: 'bans without Retry-After, and with the code of any 429',
    caughtBy: 'limits.ban-ends',
    wrong: answers(isBan, ({ body, headers }) => ({
      status: 429,
      headers: { ...headers, 'Retry-After': undefined },
      body: body.replace('api_key_banned', 'rate_limit_exceeded'),
    })),
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
    name: 'counts all keys together',
    caughtBy: 'limits.other-key',
    wrong: serve => request =>
      serve(
        key(request) === `Bearer ${MAIN_KEY}` && !('idempotency-key' in request.headers)
          ? { ...request, headers: { ...request.headers, authorization: `Bearer ${SPARE_KEY}` } }
          : request,
      ),
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
  {
    name: 'asks for a wait in milliseconds',
    caughtBy: 'limits.retry-after',
    also: ['limits.ban-ends'],
    wrong: headers(status(429), given => ({ 'Retry-After': `${given['Retry-After']}000` })),
  },
  {
    name: 'asks for a wait of 13 hours',
    caughtBy: 'limits.retry-after',
    wrong: headers(status(429), () => ({ 'Retry-After': '46800' })),
  },
  {
    name: 'asks for no wait at all',
    caughtBy: 'limits.retry-after-early',
    wrong: headers(status(429), () => ({ 'Retry-After': '0' })),
  },
]
