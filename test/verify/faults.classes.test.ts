import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verify } from '../../adapters/verify/index.js'
import {
  type admits,
  all,
  animals,
  answers,
  anywhere,
  bodies,
  created,
  headers,
  isCreate,
  isGet,
  isList,
  key,
  MAIN_KEY,
  NO_LIMITS,
  openFaulty,
  pages,
  status,
  type Wrong,
} from './faulty-server.js'

const named = (edit: (name: string) => unknown) =>
  created(pet => ({ ...pet, name: edit(String(pet['name'])) }))
const finds = (pattern: RegExp, edit: (text: string) => string): Wrong => {
  return serve => request => {
    const [, text] = isGet(request) ? (pattern.exec(request.path) ?? []) : []
    return serve(text === undefined ? request : { ...request, path: `/v1/pets/${edit(text)}` })
  }
}

/** One server for each class of faults that no check has for itself, by the check that sees it. */
const CLASSES: readonly (readonly [id: string, what: string, wrong: Wrong])[] = [
  [
    'ratelimit.every',
    'no headers on HEAD',
    headers(
      r => r.method === 'HEAD',
      () => NO_LIMITS,
    ),
  ],
  [
    'ratelimit.every',
    'no headers on 401 for an unknown key',
    headers(
      all(status(401), request => key(request) !== ''),
      () => NO_LIMITS,
    ),
  ],
  [
    'ratelimit.every',
    'a fraction on 404',
    headers(
      ({ path }) => path.endsWith('/0'),
      () => ({ 'X-RateLimit-Reset': '1.5' }),
    ),
  ],
  [
    'auth.challenge.every',
    'no challenge for Basic',
    headers(
      all(status(401), r => key(r).startsWith('Basic')),
      () => ({
        'WWW-Authenticate': undefined,
      }),
    ),
  ],
  [
    'error.every.400',
    'a page for a list',
    pages(
      all(isCreate, ({ text }) => text === '[]'),
      400,
    ),
  ],
  ['error.every.400', 'a page for limit=0', pages(all(isList, status(400)))],
  ['auth.echo', 'the key in 404', bodies(status(404), (e, r) => ({ ...e, message: key(r) }))],
  ['auth.path', 'no key for /V1/PETS', open(({ path }) => path === '/V1/PETS')],
  ['auth.path', 'no key for /pets.json', open(({ path }) => path.endsWith('.json'))],
  ['create.name-plain', 'a number for a name', named(name => (name === '123' ? 123 : name))],
  ['create.name-exact', 'a printable character', named(name => name.replaceAll('~', '-'))],
  ['create.name-exact', 'escapes decoded twice', named(name => name.replaceAll('\\n', '\n'))],
  ['create.name-exact', '%s', named(name => name.replace('%s', ''))],
  ['create.name-exact', '$&', named(name => 'name'.replace('name', name))],
  ['create.name-exact', 'quotes doubled', named(name => name.replaceAll("'", "''"))],
  ['create.name-exact', 'templates', named(name => name.replace(/\{\{.*?\}\}/g, ''))],
  ['create.name-exact', 'zero width', named(name => name.replaceAll('\u200b', ''))],
  [
    'get.int64',
    'category 0 left out',
    animals(isGet, ({ categoryId, ...pet }) => (categoryId === 0 ? pet : { ...pet, categoryId })),
  ],
  [
    'list.int64',
    'category 0 as null',
    animals(isList, pet => (pet['categoryId'] === 0 ? { ...pet, categoryId: null } : pet)),
  ],
  ['get.spelling', '1.0', finds(/\/(\d+)\.0$/, text => text)],
  ['get.other-id', '2^64', finds(/\/(\d{20})$/, text => String(BigInt(text) - 2n ** 64n))],
  [
    'deprecation.sunset',
    'a date without a time',
    headers(isGet, () => ({ Sunset: 'Thu, 05 Dec 2030' })),
  ],
]

for (const [id, what, wrong] of CLASSES) {
  test(`verify - ${id} sees ${what}`, async () => {
    const { results } = await verify({ ...(await openFaulty({ wrong })), apiKey: MAIN_KEY })
    const failed = results.filter(({ outcome }) => outcome === 'failed')
    assert.ok(
      failed.some(result => result.id === id),
      failed.map(result => result.id).join(),
    )
  })
}

test('verify - what the specification leaves open accuses nobody', async () => {
  const wrong = answers(anywhere, given => ({
    ...given,
    headers: { ...given.headers, 'X-RateLimit-Remaining': '5' },
  }))
  const { ok } = await verify({ ...(await openFaulty({ wrong })), apiKey: MAIN_KEY })
  assert.equal(ok, true)
})

function open(where: Parameters<typeof admits>[0]): Wrong {
  return answers(
    request => key(request) === '' && where(request),
    given => ({ ...given, status: 200, body: '[]' }),
  )
}
