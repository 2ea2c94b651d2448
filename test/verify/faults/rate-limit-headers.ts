import {
  all,
  answers,
  anywhere,
  headers,
  isAnonymous,
  isList,
  isSpare,
  LIMIT,
  NO_LIMITS,
  type PlantedFault,
  REMAINING,
  RESET,
  status,
} from '../faulty-server.js'

export const rateLimitHeadersFaults: readonly PlantedFault[] = [
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
    name: 'resets an hour ago',
    caughtBy: 'ratelimit.reset-future',
    wrong: headers(anywhere, given => ({
      [RESET]: given[RESET] && String(Number(given[RESET]) - 3_600),
    })),
  },
  {
    name: 'counts up',
    caughtBy: 'ratelimit.counts',
    wrong: (serve, world) => {
      let sent = 0
      return headers(
        request => !isSpare(request),
        given => ({ [REMAINING]: given[REMAINING] && String(40 + (sent++ % 900)) }),
      )(serve, world)
    },
  },
  {
    name: 'counts requests without a key for every key',
    caughtBy: 'ratelimit.per-key',
    wrong: (serve, world) => {
      let anonymous = 0
      return answers(anywhere, (given, request) => {
        if (isAnonymous(request)) anonymous++
        const remaining = Number(given.headers[REMAINING]) - anonymous
        const isCounted = !isAnonymous(request) && !isSpare(request)
        const fields = isCounted ? { [REMAINING]: String(Math.max(1, remaining)) } : {}
        return { ...given, headers: { ...given.headers, ...fields } }
      })(serve, world)
    },
  },
  {
    name: 'sends no rate limit headers at all',
    caughtBy: 'ratelimit.present.200',
    wrong: headers(
      request => !isSpare(request),
      () => NO_LIMITS,
    ),
  },
]
