import {
  type Asked,
  answers,
  failure,
  headers,
  type PlantedFault,
  status,
} from '../faulty-server.js'

export const robustnessFaults: readonly PlantedFault[] = [
  ...Object.entries({
    nesting: ({ text }: Asked) => text.includes('[[[[['),
    'long-number': ({ text }: Asked) => text.includes('9'.repeat(1_000)),
    'large-body': ({ text }: Asked) => text.startsWith(' '.repeat(1_000)),
    utf8: ({ text }: Asked) => text.includes('not UTF-8 \ufffd'),
    'content-type': ({ headers }: Asked) => headers['content-type'] === 'text/plain',
    'content-encoding': ({ headers }: Asked) => headers['content-encoding'] === 'gzip',
    prototype: ({ text }: Asked) => text.includes('__proto__'),
    'long-path': ({ path }: Asked) => path.length > 1_000,
    'bad-encoding': ({ path, query }: Asked) => `${path}${query}`.includes('%zz'),
    head: ({ method }: Asked) => method === 'HEAD',
  }).map(
    ([name, where]): PlantedFault => ({
      name: `fails on ${name}`,
      caughtBy: `robust.${name}`,
      wrong: answers(where, given => failure(500, given)),
    }),
  ),
  {
    name: 'serves any method',
    caughtBy: 'robust.method',
    wrong: answers(
      ({ method }) => method === 'PROPFIND',
      given => ({ ...given, status: 200 }),
    ),
  },
  {
    name: 'does not say which methods it has',
    caughtBy: 'robust.allow',
    wrong: headers(status(405), () => ({ Allow: undefined })),
  },
  {
    name: 'breaks after a deep body',
    caughtBy: 'robust.alive',
    // The next check finds it, and the rest is skipped.
    also: ['robust.long-number'],
    wrong: serve => {
      let isBroken = false
      return async request => {
        const given = await serve(request)
        if (isBroken) return failure(500, given)
        isBroken = request.text.includes('[[[[[')
        return given
      }
    },
  },
]
