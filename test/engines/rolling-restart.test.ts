import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { postgresStorage } from '../../adapters/stores/postgres/index.js'
import { served } from '../support/served.js'
import {
  createFolder,
  deployedNginx,
  freePort,
  startNginx,
  startPostgres,
  startRedis,
  withoutBoth,
  withoutNginx,
} from './engines.js'

const ROUNDS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 5 : 1
const CALLERS = 12
const LIMITS = { perMinute: 1_000_000_000, perDay: 1_000_000_000 }

test('deploy - a rolling restart under load fails no request, creates included', {
  skip: withoutBoth || withoutNginx,
}, async t => {
  await using postgres = await startPostgres()
  await using redis = await startRedis()
  const folder = createFolder('restart')
  t.after(() => rmSync(folder, { recursive: true }))
  const keys = join(folder, 'keys.json')
  const key = { id: 'web', plan: 'enterprise', limits: LIMITS }
  writeFileSync(keys, JSON.stringify({ s3cret: key }))
  const ports = [await freePort(), await freePort()] as const
  const words = [
    '--log',
    'silent',
    '--store',
    postgres.url,
    '--rate-limit-store',
    redis.url,
    '--keys',
    keys,
  ]
  const start = (port: number) =>
    served(t, [...words, '--port', String(port), '--proxy-hops', '1', '--drain', '200ms'])
  const servers = [await start(ports[0]), await start(ports[1])]
  await using nginx = await startNginx(deployedNginx(...ports))

  const load = startLoad(`${nginx.url}/v1/pets`)
  await load.answers(200)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, port] of ports.entries()) {
      assert.equal((await servers[at]?.stop())?.code, 0)
      await load.answers(100)
      servers[at] = await start(port)
      await load.answers(100)
    }
  }
  const { answers, created, failures } = await load.stop()
  t.diagnostic(`${answers} requests, ${created} of them creates, ${2 * ROUNDS} restarts`)
  assert.deepEqual(failures, [])
  await using storage = postgresStorage({ url: postgres.url })
  assert.equal(await storage.count(), created)
})

/** Callers that create and list by turns, each one request after the other. */
function startLoad(url: string) {
  const failures: string[] = []
  let [answers, created, isStopping] = [0, 0, false]
  let next = { at: Number.POSITIVE_INFINITY, reached: () => {} }
  const headers = { authorization: 'Bearer s3cret', 'content-type': 'application/json' }
  const create = { method: 'POST', headers, body: '{"name":"Ada","categoryId":1}' }
  const running = Array.from({ length: CALLERS }, run)

  return {
    answers: (count: number) =>
      new Promise<void>(reached => {
        next = { at: answers + count, reached }
      }),
    async stop() {
      isStopping = true
      await Promise.all(running)
      return { answers, created, failures }
    },
  }

  async function run(): Promise<void> {
    for (let isCreate = true; !isStopping; isCreate = !isCreate) {
      const expected = isCreate ? 201 : 200
      try {
        const response = await fetch(url, isCreate ? create : { headers })
        const text = await response.text()
        if (response.status === 201) created++
        if (response.status !== expected) failures.push(`${response.status} ${text}`)
      } catch (error) {
        failures.push(String((error as Error).cause ?? error))
      }
      if (++answers >= next.at) next.reached()
    }
  }
}
