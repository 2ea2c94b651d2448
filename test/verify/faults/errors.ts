import {
  answers,
  bodies,
  failure,
  headers,
  isAnonymous,
  type PlantedFault,
  status,
} from '../faulty-server.js'

const HTML = { 'Content-Type': 'text/html' }

export const errorsFaults: readonly PlantedFault[] = [
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

  {
    name: 'answers a body that is not JSON with a page',
    caughtBy: 'error.every.400',
    wrong: answers(
      (request, given) => request.text === '{' && given.status === 400,
      given => ({ ...given, headers: HTML, body: '<h1>Bad Request</h1>' }),
    ),
  },
  {
    name: 'answers an unknown key with a page',
    caughtBy: 'error.every.401',
    wrong: answers(
      (request, given) => given.status === 401 && !isAnonymous(request),
      given => ({
        ...given,
        headers: { ...given.headers, ...HTML },
        body: '<h1>Unauthorized</h1>',
      }),
    ),
  },
  {
    name: 'answers an id that is not a number with a page',
    caughtBy: 'error.every.404',
    wrong: answers(
      ({ path }) => path === '/v1/pets/verify',
      given => ({ ...given, status: 404, headers: HTML, body: '<pre>Cannot GET</pre>' }),
    ),
  },
  {
    name: 'fails for browsers',
    caughtBy: 'error.accept',
    wrong: answers(
      ({ headers }, given) =>
        given.status === 404 && String(headers['accept']).startsWith('text/html'),
      given => failure(500, given),
    ),
  },
  {
    name: 'answers an unknown path with a page',
    caughtBy: 'error.unknown-path',
    wrong: answers(
      ({ path }) => path === '/v1/verify-unknown',
      given => ({ ...given, headers: HTML, body: '<h1>Not Found</h1>' }),
    ),
  },
]
