import {
  admits,
  all,
  answers,
  bodies,
  headers,
  isAnonymous,
  isCreate,
  isGet,
  isList,
  isSpare,
  key,
  MAIN_KEY,
  type PlantedFault,
  status,
} from '../faulty-server.js'

export const authenticationFaults: readonly PlantedFault[] = [
  {
    name: 'lists without a key',
    caughtBy: 'auth.missing.list',
    also: ['auth.head', 'auth.other-header'],
    wrong: admits(request => isList(request) && isAnonymous(request) && request.query === ''),
  },
  {
    name: 'checks no key in getPet',
    caughtBy: 'auth.missing.get',
    also: ['auth.unknown.get'],
    wrong: admits(isGet),
  },
  {
    name: 'creates without a key',
    caughtBy: 'auth.missing.create',
    wrong: admits(request => isCreate(request) && isAnonymous(request) && request.text !== '{'),
  },
  {
    name: 'accepts any key for lists',
    caughtBy: 'auth.unknown.list',
    also: [
      'auth.empty',
      'auth.exact',
      'auth.key-case',
      'auth.lookup',
      'auth.pattern',
      'auth.scheme',
      'auth.single',
      'robust.long-key',
    ],
    wrong: admits(request => isList(request) && !isAnonymous(request) && !isSpare(request)),
  },
  {
    name: 'creates with any key',
    caughtBy: 'auth.unknown.create',
    wrong: admits(request => isCreate(request) && !isAnonymous(request)),
  },
  {
    name: 'gets with any key',
    caughtBy: 'auth.unknown.get',
    wrong: admits(request => isGet(request) && !isAnonymous(request)),
  },
  {
    name: 'checks the key after the body',
    caughtBy: 'auth.before-body',
    wrong: admits(request => isCreate(request) && request.text === '{'),
  },
  {
    name: 'checks the key after the query',
    caughtBy: 'auth.before-query',
    wrong: admits(request => request.query === 'limit=0'),
  },
  {
    name: 'compares only the beginning of the key',
    caughtBy: 'auth.exact',
    also: ['auth.single'],
    wrong: admits(request => key(request).startsWith(`Bearer ${MAIN_KEY.slice(0, -1)}`)),
  },
  {
    name: 'takes the key without a scheme',
    caughtBy: 'auth.scheme',
    wrong: admits(request => key(request) === MAIN_KEY),
  },
  {
    name: 'knows the scheme only as Bearer',
    caughtBy: 'auth.scheme-case',
    wrong: serve => request =>
      serve(
        key(request).startsWith('Bearer')
          ? request
          : { ...request, headers: { ...request.headers, authorization: '' } },
      ),
  },
  ...(['list', 'create', 'get'] as const).map(
    (name): PlantedFault => ({
      name: `answers ${name} with 401 but no challenge`,
      caughtBy: `auth.challenge.${name}`,
      wrong: headers(
        all({ list: isList, create: isCreate, get: isGet }[name], status(401)),
        () => ({
          'WWW-Authenticate': undefined,
        }),
      ),
    }),
  ),
  {
    name: 'challenges for Basic',
    caughtBy: 'auth.challenge-scheme',
    wrong: headers(status(401), () => ({ 'WWW-Authenticate': 'Basic realm="pets"' })),
  },
  {
    name: 'repeats an unknown key',
    caughtBy: 'auth.echo',
    wrong: bodies(status(401), (error, request) => ({ ...error, message: `${key(request)}?` })),
  },

  {
    name: 'takes the second word of the credentials',
    caughtBy: 'auth.single',
    also: ['auth.scheme'],
    wrong: admits(request => key(request).split(' ')[1] === MAIN_KEY),
  },
  {
    name: 'compares keys in any letter case',
    caughtBy: 'auth.key-case',
    wrong: admits(request => key(request).toLowerCase() === `bearer ${MAIN_KEY}`),
  },
  {
    name: 'has a key called undefined',
    caughtBy: 'auth.empty',
    wrong: admits(request => key(request) === 'Bearer undefined'),
  },
  {
    name: 'looks keys up in a plain object',
    caughtBy: 'auth.lookup',
    wrong: admits(request => key(request).slice(7) in {} && key(request) !== ''),
  },
  {
    name: 'matches keys as patterns',
    caughtBy: 'auth.pattern',
    wrong: admits(request => key(request) === 'Bearer *'),
  },
  {
    name: 'takes the key from the query',
    caughtBy: 'auth.query',
    wrong: admits(({ query }) => new URLSearchParams(query).get('api_key') === MAIN_KEY),
  },
  {
    name: 'takes the key from another header field',
    caughtBy: 'auth.other-header',
    wrong: admits(({ headers }) => headers['x-api-key'] === MAIN_KEY),
  },
  {
    name: 'serves another spelling of the path without a key',
    caughtBy: 'auth.path',
    wrong: answers(
      request => isAnonymous(request) && request.path.endsWith('/PETS'),
      given => ({ ...given, status: 200, body: '[]' }),
    ),
  },
  {
    name: 'answers HEAD without a key',
    caughtBy: 'auth.head',
    wrong: admits(request => request.method === 'HEAD' && isAnonymous(request)),
  },
]
