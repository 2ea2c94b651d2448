import {
  admits,
  all,
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
    also: ['auth.exact', 'auth.scheme'],
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
    wrong: admits(request => key(request).startsWith(`Bearer ${MAIN_KEY.slice(0, -1)}`)),
  },
  {
    name: 'takes the key without a scheme',
    caughtBy: 'auth.scheme',
    wrong: admits(request => key(request) === MAIN_KEY),
  },
  {
    name: 'takes the key in any scheme',
    caughtBy: 'auth.scheme',
    wrong: admits(request => key(request) === `Basic ${MAIN_KEY}`),
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
]
