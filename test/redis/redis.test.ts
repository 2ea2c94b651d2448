import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, test as anywhere } from 'node:test'
import { inspect } from 'node:util'
import { Cluster, Redis } from 'ioredis'
import {
  type RedisOptions,
  type RedisRateLimitStore,
  redisRateLimitStore,
} from '../../adapters/redis/index.js'
import { OptionError } from '../../src/index.js'
import { type Limits, PLANS } from '../../src/limits/plans.js'
import { decide, type Usage } from '../../src/limits/windows-and-bans.js'
import { createRandom } from '../crash/random.js'
import {
  type Engine,
  freePort,
  startHttpServer,
  startRedis,
  startRedisCluster,
  withoutRedis,
} from '../engines/engines.js'
import { consumerOf, rateLimitSuite } from '../limits/rate-limit-suite.js'
import { T0 } from '../limits/rate-limit-vectors.js'
import { ROOT_URL } from '../support/paths.js'
import { testUnless } from '../support/test-unless.js'
import { resolves, until } from '../support/waiting.js'

const skip = withoutRedis
const test = testUnless(skip)
const STEPS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 200_000 : 20_000
const MINUTE = 60_000
const DAY = 86_400_000
const engine = skip ? undefined : await startRedis()
const url = engine?.url as string
const admin = new Redis(url, { lazyConnect: true })
const opened: RedisRateLimitStore[] = []
after(async () => {
  for (const limits of opened) await limits.close()
  admin.disconnect()
  await engine?.stop()
})
let prefixes = 0

if (!skip) rateLimitSuite('redis', async () => consumerOf(await open({ time: 'store' })))

test('redis - the script decides like `decide`, step by step', async () => {
  const limits = await open({ time: 'store' })
  const random = createRandom(7)
  const usages = new Map<string, Usage>()
  let now = T0 + 0.5
  for (let step = 0; step < STEPS; ) {
    const chunk = Array.from({ length: 1_000 }, () => {
      step++
      now += STRIDES[random(STRIDES.length)] as number
      const partition = `key ${random(8)}`
      const policy = POLICIES[random(POLICIES.length)] as Limits
      const expected = decide(usages.get(partition), policy, now)
      usages.set(partition, expected.usage)
      return { expected: expected.decision, actual: limits.consume(partition, policy, now) }
    })
    // They arrive in the order they were sent.
    const actual = await Promise.all(chunk.map(({ actual }) => actual))
    assert.deepEqual(
      actual,
      chunk.map(({ expected }) => expected),
    )
  }
  assert.deepEqual(new Map(await limits.dump()), usages)
})

/** In ms: bursts, fractions, next windows, small and large steps back. */
const STRIDES = [
  ...Array(30).fill(0),
  ...[0.25, 1, 700, 5_000, -1, -900, -59_999, -60_001, -3_600_000],
  ...[MINUTE, 5 * MINUTE, 61 * MINUTE, DAY / 2, DAY],
]

const POLICIES: readonly Limits[] = [
  { perMinute: 3, perDay: 40 },
  { perMinute: 5, perDay: 9, banAfterRejections: 2 },
  { perMinute: 1, perDay: 1, banAfterRejections: 1 },
  { perMinute: 2, perDay: 1_000, banAfterRejections: Number.POSITIVE_INFINITY },
  { perMinute: Number.MAX_SAFE_INTEGER, perDay: Number.MAX_SAFE_INTEGER },
]

test('redis - counts near 2^53 are exact', async () => {
  const limits = await open({ time: 'store' })
  const most = Number.MAX_SAFE_INTEGER
  const policy = { perMinute: most, perDay: most }
  const usage = { ...NOTHING, lastSeenAt: T0, minuteCount: most - 3, dayCount: most - 2 }
  await limits.restore([['key', usage]])
  assert.deepEqual(await limits.inspect('key'), usage)
  assert.deepEqual(await limits.consume('key', policy, T0), decide(usage, policy, T0).decision)
  assert.equal((await limits.inspect('key'))?.minuteCount, most - 2)
  assert.equal((await limits.consume('other', policy, T0)).remaining, most - 1)
})

const NOTHING: Usage = {
  lastSeenAt: 0,
  minuteCount: 0,
  rejections: 0,
  dayCount: 0,
  bannedUntil: 0,
  banLevel: 0,
}

test('redis - the server clock decides, unless the store has its own', async () => {
  const limits = await open()
  const { reset } = await limits.consume('key', PLANS.free, T0)
  const seconds = Number((await admin.time())[0])
  assert.ok(Math.abs(reset - seconds) <= 60)
  for (const now of [Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => limits.consume('key', PLANS.free, now), RangeError)
  }
})

test('redis - addresses are counted in this process, and keys by their id', async () => {
  const limits = await open({ prefix: 'seen:' })
  await limits.consume('addr:192.0.2.1', PLANS.anonymous, T0)
  await limits.consume('ci', PLANS.free, T0)
  assert.deepEqual(await admin.keys('seen:*'), ['seen:ci'])
  const dumped = await limits.dump()
  assert.deepEqual(dumped.map(([partition]) => partition).toSorted(), ['addr:192.0.2.1', 'ci'])
  assert.equal((await limits.inspect('addr:192.0.2.1'))?.minuteCount, 1)
  await limits.reset('addr:192.0.2.1')
  assert.equal(await limits.inspect('addr:192.0.2.1'), undefined)
  assert.equal((await limits.inspect('ci'))?.minuteCount, 1)
})

test('redis - every key expires: after its day, or a day after its ban', async () => {
  const limits = await open({ prefix: 'ttl:', time: 'store' })
  const policy = { perMinute: 1, perDay: 2, banAfterRejections: 1 }
  await limits.consume('quiet', policy, T0 + 1_000)
  for (let n = 0; n < 3; n++) await limits.consume('banned', policy, T0)
  const lifetimes = async () => [await admin.pttl('ttl:quiet'), await admin.pttl('ttl:banned')]
  const expected = [DAY - 1_000 + 60 * MINUTE, DAY + 5 * MINUTE + 60 * MINUTE]
  close(await lifetimes(), expected)
  await limits.restore(await limits.dump())
  close(await lifetimes(), expected)

  function close(actual: number[], wanted: number[]): void {
    for (const [at, value] of actual.entries()) {
      assert.ok(value <= (wanted[at] as number) && value > (wanted[at] as number) - 30_000)
    }
  }
})

test('redis - a script that the server lost is sent again, and counts once', async () => {
  const limits = await open()
  await limits.consume('key', PLANS.free, T0)
  await admin.call('SCRIPT', 'FLUSH')
  assert.equal((await limits.consume('key', PLANS.free, T0)).remaining, 58)
})

test('redis - a reset touches no other prefix, whatever the prefix is', async () => {
  const one = await open({ prefix: 'a[1]*?\\-^' })
  const other = await open({ prefix: 'a1' })
  for (let n = 0; n < 1_500; n++) one.consume(`key ${n}`, PLANS.free, T0)
  await other.consume('key', PLANS.free, T0)
  assert.equal((await one.dump()).length, 1_500)
  await one.reset()
  assert.deepEqual(await one.dump(), [])
  assert.equal((await other.dump()).length, 1)
})

test('redis - a given client is used and left open', async () => {
  const limits = redisRateLimitStore({ client: admin, prefix: 'hosted:' })
  assert.equal((await limits.consume('ci', PLANS.free, T0)).remaining, 59)
  assert.equal(limits.serverOf('ci'), '')
  await limits.close()
  assert.equal(await admin.ping(), 'PONG')
  assert.deepEqual(await admin.keys('hosted:*'), ['hosted:ci'])
})

test('redis - the key prefix of a given client stands before the own one, in dumps and resets too', async t => {
  const client = new Redis(url, { keyPrefix: 'app[1]:' })
  t.after(() => client.disconnect())
  const limits = redisRateLimitStore({ client, prefix: 'own:' })
  await limits.consume('ci', PLANS.free, T0)
  assert.deepEqual(await admin.keys('app*'), ['app[1]:own:ci'])
  const [[partition, usage] = []] = await limits.dump()
  assert.deepEqual([partition, usage?.minuteCount], ['ci', 1])
  await limits.reset()
  assert.deepEqual(await admin.keys('app*'), [])
})

test('redis - a cluster of three: quotas are exact, and all keys are dumped and reset', async () => {
  const nodes = await startRedisCluster()
  after(() => Promise.all(nodes.map(node => node.stop())))
  const [first] = nodes as [Engine]
  assert.match((await failure({ url: first.url })).message, /it is a server of a cluster; pass/)
  const client = new Cluster([{ host: '127.0.0.1', port: first.port }])
  after(() => client.disconnect())
  const limits = await open({ client })
  const policy = { perMinute: 1_000, perDay: 20, banAfterRejections: 1_000 }
  const ids = Array.from({ length: 30 }, (_, n) => `key ${n}`)
  for (const id of ids) {
    const decisions = await Promise.all(
      Array.from({ length: 30 }, () => limits.consume(id, policy, T0)),
    )
    assert.equal(decisions.filter(({ code }) => code === undefined).length, 20)
  }
  const dumped = await limits.dump()
  assert.deepEqual(dumped.map(([partition]) => partition).toSorted(), ids.toSorted())
  await limits.restore(dumped)
  assert.equal((await limits.consume('key 7', policy, T0)).code, 'rate_limit_exceeded')
  await limits.reset()
  assert.deepEqual(await limits.dump(), [])
  await limits.close()
  assert.equal(await client.ping(), 'PONG')
})

anywhere('redis - invalid options are refused, and show no URL', () => {
  const cases: [RedisOptions, RegExp][] = [
    [{}, /Expected either `url` or `client`/],
    [{ url, client: admin }, /Expected either `url` or `client`/],
    [{ client: {} as never }, /`client` to be an object with the methods call/],
    [{ url: 'http://me:s3cret@host' }, /`url` to be like redis:\/\//],
    [{ url: 'redis://me:s3cret@host:port' }, /`url` to be like redis:\/\//],
    [{ url: 'redis://host', prefix: '' }, /`prefix` to be a non-empty string/],
    [{ url: 'redis://host', time: 'mine' as never }, /`time` to be one of 'server', 'store'/],
    [{ url: 'redis://host', connectTimeout: 0 }, /`connectTimeout` to be a duration/],
  ]
  for (const [options, message] of cases) {
    assert.throws(
      () => redisRateLimitStore(options),
      error => {
        assert.ok(error instanceof OptionError)
        assert.match(error.message, message)
        assert.doesNotMatch(inspect(error), /s3cret/)
        return true
      },
    )
  }
})

test('redis - an unusable server is reported in one line that names the fix', async () => {
  await using guarded = await startRedis('--requirepass other')
  await using full = await startRedis('--maxmemory 1')
  const { port } = engine as Engine
  await using replica = await startRedis(`--replicaof 127.0.0.1 ${port}`)
  const rules = ['clerk', 'on', '>s3cret', '+@all', '-eval', '-evalsha', '~*']
  await admin.call('ACL', 'SETUSER', ...rules)
  const closed = await freePort()
  await using other = await startHttpServer()
  const at = (access: string, port: number) => `redis://${access}127.0.0.1:${port}`
  const cases: [url: string, message: RegExp][] = [
    [at('me:s3cret@', closed), /127\.0\.0\.1:\d+: nothing listens there; start Redis/],
    ['redis://me:s3cret@nowhere.invalid', /nowhere\.invalid: the host is unknown/],
    [at('', guarded.port), /it asks for a password; add it to the URL/],
    [at(':s3cret@', guarded.port), /the password or the user name is wrong/],
    [at('clerk:s3cret@', port), /this user may not run the script; allow \+eval \+evalsha/],
    [at('', replica.port), /it is a replica; use the address of the primary/],
    [at('', full.port), /its memory is full; raise maxmemory/],
    [at('', other.port), /the connection was closed; check that this is a Redis server/],
    [`${at('', port)}/99`, /there is no such database; correct the number/],
  ]
  for (const [url, message] of cases) {
    const error = await failure({ url })
    assert.equal(error.name, 'RedisError', inspect(error))
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /\n/)
    assert.doesNotMatch(inspect(error), /s3cret/)
  }
})

test('redis - the permissions that the page names are enough, on a cluster and another database too', async () => {
  const page = readFileSync(new URL('adapters/redis/README.md', ROOT_URL), 'utf8')
  const [, line = ''] = /^ACL SETUSER adoption (on .*)$/m.exec(page) ?? []
  const rules = line.split(' ')
  assert.ok(page.includes('`+cluster|slots +cluster|info`') && page.includes('`+select`'))
  const nodes = await startRedisCluster()
  after(() => Promise.all(nodes.map(node => node.stop())))
  const [first] = nodes as [Engine]
  const access = (target: string) => ({ url: target.replace('//', '//adoption:password@') })
  const redisOptions = { username: 'adoption', password: 'password' }
  const client = new Cluster([{ host: '127.0.0.1', port: first.port }], {
    redisOptions,
    lazyConnect: true,
  })
  after(() => client.disconnect())
  const cases: [servers: Engine[], extra: string[], options: RedisOptions][] = [
    [[engine as Engine], [], access(url)],
    [[engine as Engine], ['+select'], access(`${url}/3`)],
    [nodes, ['+cluster|slots', '+cluster|info'], { client }],
  ]
  for (const [servers, extra, options] of cases) {
    if (extra[0] === '+select') {
      for (const server of servers) await allow(server, rules)
      assert.match((await failure(options)).message, /allow .*\+select/)
    }
    for (const server of servers) await allow(server, [...rules, ...extra])
    const limits = redisRateLimitStore(options)
    for (let n = 0; n < 20; n++) await limits.consume(`key ${n}`, PLANS.free, T0)
    await limits.ping()
    assert.equal((await limits.dump()).length, 20)
    await limits.reset()
    await limits.close()
  }

  async function allow({ url }: Engine, words: readonly string[]): Promise<void> {
    const client = new Redis(url)
    await client.call('ACL', 'SETUSER', 'adoption', 'reset', ...words)
    client.disconnect()
  }
})

anywhere('redis - a server that accepts but never responds times out at the start', async () => {
  const mute = createServer().listen(0, '127.0.0.1')
  await once(mute, 'listening')
  const { port } = mute.address() as { port: number }
  const error = await failure({ url: `redis://127.0.0.1:${port}`, connectTimeout: 100 })
  assert.match(error.message, /no answer in time; check the address, the firewall and TLS/)
  mute.close()
})

test('redis - a server that comes later is counted on, and closing ends the attempts', async t => {
  const port = await freePort()
  const limits = redisRateLimitStore({ url: `redis://127.0.0.1:${port}` })
  t.after(() => limits.close())
  const away = /nothing listens there|not connected/
  for (const call of [limits.ready, limits.ping]) await assert.rejects(call(), away)
  await using server = await startRedis(`--port ${port}`)
  assert.ok(server.port > 0)
  await until(() => resolves(limits.ping()))
  assert.equal((await limits.consume('key', PLANS.free, T0)).limit, 60)
  await limits.close()
  await limits.close()
  await assert.rejects(async () => limits.inspect('key'), /: closed$/)
})

async function open(options: RedisOptions = {}): Promise<RedisRateLimitStore> {
  const limits = redisRateLimitStore({
    ...(options.client ? {} : { url }),
    prefix: `${prefixes++}:`,
    connectTimeout: 60_000,
    ...options,
  })
  await limits.ready()
  opened.push(limits)
  return limits
}

async function failure(options: RedisOptions): Promise<Error> {
  const limits = redisRateLimitStore(options)
  try {
    await limits.ready()
  } catch (error) {
    return error as Error
  } finally {
    await limits.close()
  }
  throw new assert.AssertionError({ message: 'It opened' })
}
