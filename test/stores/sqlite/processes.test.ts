import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { sqliteRateLimitStore, sqliteStorage } from '../../../adapters/stores/sqlite/index.js'
import type { Pet } from '../../../src/index.js'
import { firstMessage } from '../../support/first-output.js'
import { testUnless } from '../../support/test-unless.js'
import { temporaryFolders } from '../json-file/json-files.js'
import { withoutSqlite } from './availability.js'

const test = testUnless(withoutSqlite)
const folder = temporaryFolders()

for (const count of [2, 4]) {
  test(`sqlite - ${count} processes share one quota exactly`, async t => {
    const path = join(folder(), 'pets.sqlite')
    // They create the file at the same time.
    const servers = await startServers(t, path, count, 100)
    const statuses = await Promise.all(
      Array.from({ length: 300 }, async (_, n) => (await create(of(servers, n), `n${n}`)).status),
    )
    assert.equal(statuses.filter(status => status === 201).length, 100)
    assert.equal(statuses.filter(status => status === 429).length, 200)
    await stop(servers)
    assert.deepEqual(fs.readdirSync(join(path, '..')), ['pets.sqlite'])
    const limits = sqliteRateLimitStore(path)
    assert.equal((await limits.inspect('shared'))?.dayCount, 100)
    await limits.close()
  })

  test(`sqlite - what one of ${count} processes acknowledged, all show, and in order`, async t => {
    const path = join(folder(), 'pets.sqlite')
    const servers = await startServers(t, path, count, 1_000_000)
    const acknowledged = new Map<number, string>()
    let writing = true
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let n = 0; n < 25; n++) {
        const { status, pet } = await create(of(servers, writer), `${writer}-${n}`)
        assert.equal(status, 201)
        assert.ok(!acknowledged.has(pet.id), `${pet.id} is assigned twice`)
        acknowledged.set(pet.id, pet.name)
        const found = await call(of(servers, writer + n + 1), `/${pet.id}`)
        assert.deepEqual([found.status, await found.json()], [200, pet])
      }
    })
    const reader = (async () => {
      const seen: number[] = []
      for (let n = 0; writing; n++) {
        const newest = Math.max(0, ...acknowledged.keys())
        for (;;) {
          const page = await call(of(servers, n), `?limit=100&after=${seen.length}`)
          const pets = (await page.json()) as Pet[]
          seen.push(...pets.map(({ id }) => id))
          if (pets.length < 100) break
        }
        assert.ok(seen.length >= newest, `${newest} was acknowledged, and ${seen.length} listed`)
      }
      assert.deepEqual(
        seen,
        Array.from(seen, (_, at) => at + 1),
      )
    })()
    await Promise.all(writers)
    writing = false
    await reader
    await stop(servers)
    const storage = sqliteStorage(path)
    const { pets, nextId } = await storage.dump()
    assert.equal(nextId, 201)
    assert.deepEqual(
      new Map(pets.map(({ id, name }) => [id, name])),
      new Map([...acknowledged].sort(([a], [b]) => a - b)),
    )
    assert.deepEqual(await storage.check(), [])
    await storage.close()
  })
}

interface Server {
  readonly child: ChildProcess
  readonly url: string
}

function startServers(t: TestContext, path: string, count: number, perDay: number) {
  return Promise.all(Array.from({ length: count }, () => startServer(t, path, perDay)))
}

async function startServer(t: TestContext, path: string, perDay: number): Promise<Server> {
  const words = [path, String(perDay)]
  const child = fork(new URL('server.js', import.meta.url), words)
  t.after(() => child.kill('SIGKILL'))
  const url = String(await firstMessage(child))
  return { child, url }
}

async function stop(servers: readonly Server[]): Promise<void> {
  for (const { child } of servers) {
    child.disconnect()
    assert.deepEqual(await once(child, 'exit'), [0, null])
  }
}

function of(servers: readonly Server[], n: number): Server {
  return servers[n % servers.length] as Server
}

async function create(server: Server, name: string): Promise<{ status: number; pet: Pet }> {
  const body = JSON.stringify({ name, categoryId: 1 })
  const response = await call(server, '', { method: 'POST', body })
  return { status: response.status, pet: (await response.json()) as Pet }
}

function call({ url }: Server, target: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: 'Bearer secret', 'content-type': 'application/json' }
  return fetch(`${url}/pets${target}`, { ...init, headers })
}
