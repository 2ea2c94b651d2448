import {
  type Asked,
  all,
  answers,
  bodies,
  failure,
  headers,
  isCreate,
  type PlantedFault,
  status,
} from '../faulty-server.js'

export const robustnessFaults: readonly PlantedFault[] = [
  ...Object.entries({
    nesting: ({ text }: Asked) => text.includes('[[[[['),
    'long-number': ({ text }: Asked) => text.includes('9'.repeat(1_000)),
    'large-body': ({ text }: Asked) => text.startsWith(' '.repeat(1_000)),
    utf8: ({ text }: Asked) => text.includes('\ufffd'),
    surrogate: ({ text }: Asked) => text.includes('\\ud800'),
    'content-type': ({ headers }: Asked) => headers['content-type'] === 'text/plain',
    charset: ({ headers }: Asked) => String(headers['content-type']).endsWith('utf-16'),
    'content-encoding': ({ headers }: Asked) => headers['content-encoding'] === 'gzip',
    prototype: ({ text }: Asked) => text.includes('"hasOwnProperty":1'),
    'byte-order-mark': ({ bytes }: Asked) => bytes?.[0] === 0xef,
    duplicate: ({ text }: Asked) => text.includes('"categoryId":7,"categoryId"'),
    'long-path': ({ path }: Asked) => path.length > 1_000,
    'bad-encoding': ({ path, query }: Asked) => `${path}${query}`.includes('%zz'),
    path: ({ path }: Asked) => path.includes('%00'),
    names: ({ path }: Asked) => path.endsWith('/__proto__'),
    query: ({ query }: Asked) => query === 'limit=1&limit=2',
    'long-key': ({ headers }: Asked) => String(headers['authorization']).length > 5_000,
    headers: ({ headers }: Asked) => String(headers['cookie']).startsWith('a=%'),
    head: ({ method, headers }: Asked) => method === 'HEAD' && 'authorization' in headers,
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
    also: ['robust.nesting'],
    // The next check finds it, and the rest is skipped.
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

  {
    name: 'ends at a percent sign',
    caughtBy: 'robust.bad-encoding',
    also: ['robust.alive'],
    wrong: serve => {
      let isDead = false
      return request => {
        isDead ||= request.path.endsWith('/%')
        if (isDead) throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
        return serve(request)
      }
    },
  },
  {
    name: 'replaces bytes that are not UTF-8',
    caughtBy: 'robust.utf8',
    wrong: serve => request => serve({ ...request, bytes: undefined }),
  },
  {
    name: 'has no maximum for a limit given twice',
    caughtBy: 'robust.query',
    wrong: answers(
      ({ query }) => query === 'limit=1&limit=2',
      given => ({ ...given, status: 200, body: `[${'{},'.repeat(100)}{}]` }),
    ),
  },
  {
    name: 'adds up members with one name',
    caughtBy: 'robust.duplicate',
    wrong: bodies(all(isCreate, status(201)), (pet, { text }) =>
      text.includes('"categoryId":7,"categoryId"') ? { ...pet, categoryId: 8 } : pet,
    ),
  },
  {
    name: 'keeps a byte order mark in a name',
    caughtBy: 'robust.byte-order-mark',
    wrong: serve => async request => {
      if (request.bytes?.[0] !== 0xef) return serve(request)
      const given = await serve({ ...request, text: request.text, bytes: undefined })
      return { ...given, body: given.body.replace('"name":"', '"name":"\ufeff') }
    },
  },
  {
    name: 'takes the status of __proto__',
    caughtBy: 'robust.pollution',
    wrong: bodies(all(isCreate, status(201)), (pet, { text }) =>
      text.includes('"__proto__":{') ? { ...pet, status: 'sold' } : pet,
    ),
  },
]
