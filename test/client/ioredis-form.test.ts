import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import net, { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createClient as createNodeRedis } from '@redis/client'
import { Redis } from 'ioredis'
import {
  asIoredis,
  type IoredisForm,
  type NodeRedisClient,
  OWN_SETTINGS,
} from '../../adapters/client/ioredis-form.js'
import { createSharedKey } from '../../adapters/client/shared.js'
import { createTime } from '../../adapters/client/time.js'
import { listen } from '../../adapters/http/index.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'
import { type Engine, startRedis, withoutRedis } from '../engines/engines.js'
import { refuseSecondDestroy } from '../redis/refuse-second-destroy.js'

const skip = withoutRedis
const LUA = `redis.call('set', KEYS[1], ARGV[1])
return { redis.call('get', KEYS[1]), #ARGV, false, ARGV[2] }`

test('ioredis form - a script runs like with ioredis, also after the server has forgotten it', {
  skip,
}, async t => {
  const { redis, form } = await connected(t)
  const ioredis = new Redis(redis.url)
  t.after(() => ioredis.disconnect())
  ioredis.defineCommand('tested', { lua: LUA })
  form.defineCommand('tested', { lua: LUA })
  for (const words of [
    ['ä"\n', 7],
    ['', null],
    ['1', undefined],
  ]) {
    const [expected, replies] = [await run(ioredis, ...words), await run(form, ...words)]
    assert.deepEqual(replies, expected)
  }
  await ioredis.script('FLUSH')
  assert.deepEqual(await run(form, 'x', 'y'), ['x', 2, null, 'y'])
  form.defineCommand('broken', { lua: "return redis.error_reply('ERR UNKNOWN_CLIENT')" })
  await assert.rejects(run(form, 'x'), { message: 'ERR UNKNOWN_CLIENT' }, 'broken')
})

test('ioredis form - messages arrive, also after the connection was lost', { skip }, async t => {
  const { redis, form } = await connected(t)
  const subscriber = form.duplicate()
  t.after(() => subscriber.disconnect())
  await ready(subscriber)
  const messages: string[] = []
  let arrived = () => {}
  subscriber.on('message', (channel, message) => {
    messages.push(`${channel} ${message}`)
    arrived()
  })
  await new Promise<void>(resolve => subscriber.subscribe('news', resolve))
  const publish = async (message: string) => {
    const arrival = new Promise<void>(resolve => (arrived = resolve))
    await form.publish('news', message)
    await arrival
  }
  await publish('one')
  const lost = [form, subscriber].map(
    connection => new Promise<void>(resolve => connection.once('error', () => resolve())),
  )
  await redis.signal('SIGKILL')
  await Promise.all(lost)
  assert.equal(form.status, 'connecting')
  await assert.rejects(form.call('PING'), { name: /ClientOfflineError|Error/ })
  const back = Promise.all([ready(form), ready(subscriber)])
  await redis.restart()
  await back
  await subscribed(form)
  await publish('two')
  assert.deepEqual(messages, ['news one', 'news two'])
  await subscriber.unsubscribe('news')
  assert.equal(await form.publish('news', 'three'), 0)
})

test('ioredis form - emits close when the connection is lost, and disconnecting leaves nothing behind', {
  skip,
}, async t => {
  const { redis, form } = await connected(t)
  let closed = 0
  let next = () => {}
  form.on('close', () => {
    closed++
    next()
  })
  const lost = new Promise<void>(resolve => (next = resolve))
  await redis.signal('SIGKILL')
  await lost
  form.disconnect()
  form.disconnect()
  assert.ok(closed >= 1)
  await assert.rejects(form.call('PING'))
})

for (const [client, prepare] of [
  ['@redis/client', () => {}],
  ['@redis/client before 6.3', refuseSecondDestroy],
] as const) {
  test(`shared - with ${client}, closing while the sockets connect closes them, too`, {
    timeout: 60_000,
  }, async t => {
    prepare(t)
    const server = createServer().listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const sockets: net.Socket[] = []
    const { createConnection } = net
    // One for commands, one for messages.
    const both = new Promise<void>(resolve => {
      t.mock.method(net, 'createConnection', (options: net.TcpNetConnectOpts) => {
        const socket = createConnection(options)
        if (sockets.push(socket) === 2) resolve()
        return socket
      })
    })
    const shared = createNodeRedis({ url: `redis://127.0.0.1:${port}` })
    const key = createSharedKey({ shared, key: 'key', time: createTime() })
    key.start()
    key.close()
    await both
    const closed = sockets.map(socket => new Promise(resolve => socket.once('close', resolve)))
    await Promise.all(closed)
    assert.equal(sockets.length, 2)
  })
}

test('shared - with @redis/client only, an address is enough, and close ends the process', {
  skip,
}, async t => {
  const redis = await startRedis()
  t.after(() => redis.stop())
  const apiKeys = { 'a-long-secret': { id: 'a', plan: 'free' } } as const
  const server = await listen(createStore({ storage: memoryStorage(), apiKeys }), { port: 0 })
  t.after(() => server.close())
  const script = `
    const { createClient } = await import(${adapter('client/index.js')})
    const pets = createClient({
      baseUrl: ${JSON.stringify(server.url)}, apiKey: 'a-long-secret', shared: ${JSON.stringify(redis.url)},
    })
    await Promise.all([1, 2, 3].map(() => pets.listPets()))
    console.log('listed')
    for await (const _ of process.stdin);
    await pets.close()`
  const child = startWithoutIoredis(script)
  const exit = once(child, 'exit')
  const [output, errors] = [text(child.stdout), text(child.stderr)]
  const admin = new Redis(redis.url)
  t.after(() => admin.disconnect())
  // After two seconds without a connection, the process goes on alone, and connects later.
  const patience = AbortSignal.timeout(60_000)
  let isShared = false
  while (!isShared && child.exitCode === null && !patience.aborted) {
    const keys = await admin.keys('*')
    isShared = keys.some(key => key.startsWith('b_animal-adoption-store'))
  }
  child.stdin.end()
  assert.deepEqual([await exit, await output, await errors], [[0, null], 'listed\n', ''])
  assert.ok(isShared)
})

for (const [library, start] of [
  ['ioredis', startProcess],
  ['@redis/client only', startWithoutIoredis],
] as const) {
  test(`shared - with ${library}, a socket that cannot connect is given up`, async t => {
    const server = createServer().listen(0, '127.0.0.1')
    t.after(() => server.close())
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const script = `
      const { Socket } = await import('node:net')
      const { createSharedKey } = await import(${adapter('client/shared.js')})
      const { createTime } = await import(${adapter('client/time.js')})
      const key = createSharedKey({ shared: 'redis://127.0.0.1:${port}', key: 'a', time: createTime() })
      Socket.prototype.setTimeout = ms => {
        console.log(ms)
        process.exit()
      }
      key.start()`
    const child = start(script)
    const exit = once(child, 'exit')
    const [output, errors] = [text(child.stdout), text(child.stderr)]
    assert.deepEqual([await exit, await output, await errors], [[0, null], '5000\n', ''])
  })
}

function adapter(path: string): string {
  return JSON.stringify(new URL(`../../adapters/${path}`, import.meta.url))
}

function startWithoutIoredis(script: string): ChildProcessWithoutNullStreams {
  // Newer versions of Node deprecate what hides a package.
  return startProcess(script, '--no-deprecation', '--import', WITHOUT_IOREDIS)
}

function startProcess(script: string, ...flags: readonly string[]): ChildProcessWithoutNullStreams {
  const words = [...process.execArgv, ...flags, '--input-type=module', '-e', script]
  return spawn(process.execPath, words, { stdio: 'pipe' })
}

/** Hides a package that is installed here. */
const WITHOUT_IOREDIS = dataUrl(`
  import { register } from 'node:module'
  register(${JSON.stringify(
    dataUrl(`export async function resolve(name, context, next) {
      if (name === 'ioredis') throw Object.assign(new Error('hidden'), { code: 'ERR_MODULE_NOT_FOUND' })
      return next(name, context)
    }`),
  )})`)

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`
}

async function connected(t: TestContext): Promise<{ redis: Engine; form: IoredisForm }> {
  const redis = await startRedis()
  const client = createNodeRedis({
    url: redis.url,
    ...OWN_SETTINGS,
    socket: { reconnectStrategy: 20 },
  })
  const form = asIoredis(client as unknown as NodeRedisClient, new AbortController())
  t.after(async () => {
    form.disconnect()
    await redis.stop()
  })
  await ready(form)
  return { redis, form }
}

function ready(form: IoredisForm): Promise<void> {
  if (form.status === 'ready') return Promise.resolve()
  return new Promise(resolve => form.once('ready', () => resolve()))
}

/** The client subscribes again right after it is ready. */
async function subscribed(form: IoredisForm): Promise<void> {
  for (let count = 0; count === 0; ) {
    const [, subscribers] = (await form.call('PUBSUB', 'NUMSUB', 'news')) as [string, number]
    count = Number(subscribers)
  }
}

function run(client: object, ...words: readonly unknown[]): Promise<unknown> {
  const name = 'broken' in client ? 'broken' : 'tested'
  const script = (client as Record<string, (...given: unknown[]) => void>)[name]
  return new Promise((resolve, reject) => {
    script?.call(client, 1, 'key', ...words, (error: Error | null, replies: unknown) =>
      error ? reject(error) : resolve(replies),
    )
  })
}
