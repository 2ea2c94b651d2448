import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toFetchHandler } from '../../adapters/http/fetch.js'
import { listen, toNodeHandler } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { createStore, OptionError, type StoreOptions, SUNSET } from '../../src/index.js'
import { nearest, nearestFirst } from '../../src/lib/did-you-mean.js'

const STORAGE = 'an object with the methods insert, find, list, dump, restore'
const LIMITS = 'an object with the methods consume, inspect, reset, dump, restore'
const INSTANT =
  "an instant in the years 0000 to 9999: ms, not seconds, since the Unix epoch, or ISO 8601 like '2030-01-01T00:00:00Z', or null"
const DURATION = "a duration in whole ms from 1, or a text like '500ms' or '61s'"
const BASE = "'' or segments such as '/v1'"
const COUNT = 'an integer of at least 1'

const WRONG: readonly (readonly [name: string, value: unknown, rule: string, shown: string])[] = [
  ['storage', undefined, STORAGE, 'undefined'],
  ['storage', null, STORAGE, 'null'],
  ['storage', {}, STORAGE, 'an object'],
  ['apiKeys', 'demo', 'an object', 'a string'],
  ['apiKeys', undefined, 'an object', 'undefined'],
  ['clock', 0, 'a function', '0'],
  ['rateLimiting', 'off', "one of true, false, 'shadow'", "'off'"],
  ['rateLimitStore', new Map(), LIMITS, 'a Map'],
  ['plans', [], 'an object', 'an array'],
  ['basePath', '/v1/', BASE, "'/v1/'"],
  ['basePath', 'v1', BASE, "'v1'"],
  ['basePath', '/', BASE, "'/'"],
  ['basePath', '/a b', BASE, "'/a b'"],
  ['basePath', ['/v1'], BASE, 'an array'],
  ['defaultStatus', 'lost', "one of 'available', 'pending', 'sold', or null", "'lost'"],
  ['sunsetAt', Number.NaN, INSTANT, 'NaN'],
  ['sunsetAt', '2030-13-05', INSTANT, "'2030-13-05'"],
  ['sunsetAt', 8_640_000_000_000_001, INSTANT, '8640000000000001'],
  ['deprecatedAt', -8_640_000_000_000_001, INSTANT, '-8640000000000001'],
  ['rateLimitStoreTimeout', 0, DURATION.replace('1,', '1 to 2147483647,'), '0'],
  ['pagination', 1, 'true or false', '1'],
  ['cors', '*', 'true or false', "'*'"],
  ['standardHeaders', 'draft-7', "one of 'draft-10', 'draft-11', null", "'draft-7'"],
  ['idempotency', true, 'an object, or null', 'true'],
  ['maxBodyBytes', -1, 'an integer of at least 0', '-1'],
  ['maxBodyBytes', 1.5, 'an integer of at least 0', '1.5'],
  ['maxBodyBytes', Number.POSITIVE_INFINITY, 'an integer of at least 0', 'Infinity'],
]

for (const [name, value, rule, shown] of WRONG) {
  test(`options - \`${name}\` rejects ${shown}`, () => {
    const message = `Expected \`${name}\` to be ${rule}, got ${shown}`
    assert.throws(() => open({ [name]: value }), { name: 'OptionError', message })
  })
}

test('options - an unknown option lists the known ones, closest first', () => {
  const unknown = () => open({ pagniation: true })
  assert.throws(unknown, error => {
    assert.ok(error instanceof OptionError)
    assert.match(
      error.message,
      /^Unknown option `pagniation`; expected one of pagination, .*storage/,
    )
    return true
  })
})

test('options - something else in their place is refused, not ignored', async () => {
  const double = createTestDouble()
  const given = 3000 as unknown as object
  const refusal = {
    name: 'OptionError',
    message: 'Expected `options` to be an object, got 3000',
  }
  for (const use of [
    createStore,
    (options: object) => toFetchHandler(double, options),
    (options: object) => toNodeHandler(double, options),
    (options: object) => double.report(options),
    (options: object) => double.assertPolite(options),
    (options: object) => double.clock.resume(options),
  ] as ((options: object) => unknown)[]) {
    assert.throws(() => use(given), refusal)
  }
  await assert.rejects(listen(double, given), refusal)
  await assert.rejects(double.listen(given), refusal)
  await assert.rejects(double.clock.sleep(0, given), refusal)
  const filter = { name: 'OptionError', message: 'Expected `filter` to be an object, got null' }
  assert.throws(() => double.requests(null as unknown as object), filter)
  await assert.rejects(double.snapshot(5 as unknown as string), {
    name: 'OptionError',
    message: 'Expected `name` to be a non-empty string, got 5',
  })
})

test('options - an error names option, rule and value as data', () => {
  const rate = { perMinute: 60, perDay: 1_000 }
  const key = { id: 'ci', plan: 'gold' }
  for (const [options, option, expected, got] of [
    [{ defaultStatus: 'lost' }, 'defaultStatus', /^one of 'available'.*null$/, "'lost'"],
    [{ plans: { free: { ...rate, perDay: 0 } } }, 'plans.free.perDay', new RegExp(COUNT), '0'],
    [{ plans: { gold: rate } }, 'plans.gold', /^one of free, pro/, 'gold'],
    [{ apiKeys: { s3cret: key } }, "apiKeys['ci'].plan", /^one of 'free'/, 'a string'],
    [{ apiKeys: { s3cret: 's3cret' } }, 'apiKeys[…]', /^an object$/, 'a string'],
    [{ apiKeys: { 's3cret key': key } }, 'apiKeys', /^printable ASCII/, undefined],
    [{ sunsetAt: 0, deprecatedAt: 1 }, 'deprecatedAt', /^at or before `sunsetAt`/, undefined],
  ] as const) {
    assert.throws(() => open(options), { name: 'OptionError', option, expected, got })
  }
})

test('options - a third of the letters of a name may be wrong, or their order', () => {
  const names = ['serve', 'copy', 'keys', 'verify']
  for (const [typed, meant] of [
    ['serv', 'serve'],
    ['Server', 'serve'],
    ['sevre', 'serve'],
    ['yeks', 'keys'],
    ['verfiy', 'verify'],
    ['verity', 'verify'],
    ['mock', undefined],
    ['test', undefined],
    ['init', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(nearest(typed, names), meant, typed)
  }
  assert.deepEqual(nearestFirst('colour', ['cors', 'color']), ['color', 'cors'])
  assert.deepEqual(nearestFirst('x', ['b', 'a']), ['b', 'a'], 'equally close ones keep their order')
})

test('options - undefined means the default, and a missing required option is named', async () => {
  const store = open({ basePath: undefined, sunsetAt: undefined, rateLimitStore: undefined })
  assert.equal(store.basePath, '/v1')
  assert.equal(store.maxBodyBytes, 1_048_576)
  const message = `Expected \`apiKeys\` to be an object, got undefined`
  assert.throws(() => createStore({ storage: memoryStorage() } as StoreOptions), { message })
  assert.throws(() => (createStore as () => unknown)(), OptionError)
})

test('options - an invalid plan is named with its field', () => {
  for (const [plans, message] of [
    [
      { free: { perMinute: 0, perDay: 1 } },
      `Expected \`plans.free.perMinute\` to be ${COUNT}, got 0`,
    ],
    [{ pro: { perMinute: 1 } }, `Expected \`plans.pro.perDay\` to be ${COUNT}, got undefined`],
    [{ pro: null }, 'Expected `plans.pro` to be an object, got null'],
    [{ gold: {} }, 'Unknown option `plans.gold`; expected one of free, pro, business, anonymous'],
    [
      { free: { perMinute: 1, perDay: 1, perHour: 1 } },
      'Unknown option `plans.free.perHour`; expected one of perDay, perMinute, banAfterRejections',
    ],
  ] as const) {
    assert.throws(() => open({ plans }), { name: 'OptionError', message })
  }
})

test('options - keys are an object, and each of them a string', () => {
  const record = { id: 'a', plan: 'free' }
  assert.throws(() => open({ apiKeys: new Map([['k', record]]) }), /`apiKeys` .* got a Map$/)
  const { apiKeys } = open({})
  for (const key of [undefined, 12345]) {
    assert.throws(() => apiKeys.add(key as never, record as never), /an API key to be printable/)
  }
})

test('options - an invalid key is named by its id, never by its value', () => {
  const names = "one of 'free', 'pro', 'business', 'enterprise'"
  const id = "a non-empty, well-formed string that does not begin with 'addr:'"
  for (const [record, message] of [
    [{ id: '', plan: 'free' }, `Expected \`apiKeys[…].id\` to be ${id}, got ''`],
    [{ id: 'addr:x', plan: 'free' }, `Expected \`apiKeys['addr:x'].id\` to be ${id}, got 'addr:x'`],
    [{ plan: 'free' }, `Expected \`apiKeys[…].id\` to be ${id}, got undefined`],
    [null, 'Expected `apiKeys[…]` to be an object, got null'],
    [
      { s3cret: { id: 'a' } },
      'Unknown field in `apiKeys[…]`; expected one of id, plan, limits, expiresAt',
    ],
    [{ id: 'a', plan: 'gold' }, `Expected \`apiKeys['a'].plan\` to be ${names}, got a string`],
    [
      { id: 'a', plan: 'enterprise' },
      `Expected \`apiKeys['a'].limits.perMinute\` to be ${COUNT}, got undefined`,
    ],
    [
      { id: 'a', plan: 'free', limits: { perMinute: 1, perDay: 1 } },
      "Expected `apiKeys['a'].limits` only on enterprise, got it on free",
    ],
    [
      { id: 'a', plan: 'free', name: 'x' },
      "Unknown option `apiKeys['a'].name`; expected one of id, plan, limits, expiresAt",
    ],
  ] as const) {
    assert.throws(() => open({ apiKeys: { secret: record } }), { name: 'OptionError', message })
  }
})

function open(options: Readonly<Record<string, unknown>>) {
  return createStore({ storage: memoryStorage(), apiKeys: {}, ...options } as StoreOptions)
}

test('options - a key id may contain surrogate pairs but no lone surrogate', () => {
  const withId = (id: string) => open({ apiKeys: { secret: { id, plan: 'free' } } })
  assert.throws(() => withId('a\ud800'), /well-formed/)
  withId('a\u{1f415}\n')
})

test('options - deprecatedAt cannot be after sunset', () => {
  open({ deprecatedAt: SUNSET })
  open({ deprecatedAt: SUNSET + 1, sunsetAt: null })
  assert.throws(() => open({ deprecatedAt: SUNSET + 1 }), {
    name: 'OptionError',
    message: 'Expected `deprecatedAt` to be at or before `sunsetAt` (RFC 9745 §4)',
  })
})

test('options - `idempotency` needs a lifetime, and a storage that keeps keys', () => {
  for (const [idempotency, message] of [
    [{}, `Expected \`idempotency.ttl\` to be ${DURATION}, got undefined`],
    [{ ttl: 0 }, `Expected \`idempotency.ttl\` to be ${DURATION}, got 0`],
    [{ ttl: 1, ttlMs: 1 }, 'Unknown option `idempotency.ttlMs`; expected one of ttl'],
  ] as const) {
    assert.throws(() => open({ idempotency }), { name: 'OptionError', message })
  }
  const { insertOnce: _, ...storage } = memoryStorage()
  open({ storage })
  assert.throws(() => open({ storage, idempotency: { ttl: 1 } }), {
    name: 'OptionError',
    message:
      'Expected `storage` to have the method insertOnce, which `idempotency` requires; this one cannot store a key with its animal',
  })
})

test('options - accepts values at their bounds', () => {
  open({ sunsetAt: '9999-12-31', deprecatedAt: new Date(0) })
  open({ maxBodyBytes: 0, rateLimitStoreTimeout: 1 })
})

test('options - error messages show the first 80 characters of a value', () => {
  const message = new RegExp(`got '${'x'.repeat(80)}'$`)
  assert.throws(() => open({ basePath: 'x'.repeat(81) }), { message })
})
