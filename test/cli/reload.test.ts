import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkKeys } from '../../adapters/cli/inputs.js'
import { createApiKeys } from '../../src/protocol/api-keys.js'
import { temporaryFolders } from '../json-file/json-files.js'
import { firstOutput } from '../support/first-output.js'
import { MAIN } from '../support/paths.js'

const folder = temporaryFolders()
const WEB = { id: 'web', plan: 'pro' } as const
const CI = { id: 'ci', plan: 'free' } as const

test('keys - many are checked in slices, and stay the same objects where nothing has changed', async () => {
  const file = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`k${n}`, WEB]))
  const known = await checkKeys('keys.json', file)
  let turns = 0
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const next = await checkKeys('keys.json', { ...file, k0: { ...WEB, id: 'ci' } }, known)
  clearImmediate(counting)
  assert.ok(turns >= 3, `${turns} turns for others`)
  assert.equal(next['k1'], known['k1'])
  assert.deepEqual(next['k0'], { id: 'ci', plan: 'pro' })
})

test('keys - 20,000 keys of one customer are added in the time of so many of different ones', () => {
  const cpu = (idOf: (n: number) => string) => {
    const keys = Array.from({ length: 20_000 }, (_, n) => [`k${n}`, { ...WEB, id: idOf(n) }])
    const begin = process.cpuUsage()
    const ring = createApiKeys(Object.fromEntries(keys))
    for (const [key] of keys) ring.remove(key as string)
    return process.cpuUsage(begin).user
  }
  cpu(String)
  const [different, same] = [cpu(String), cpu(() => 'one')]
  assert.ok(same < 5 * different, `${same} us instead of ${different}`)
})

test('keys - SIGHUP reads the file again, without --watch, and the server goes on', {
  skip: process.platform === 'win32' && 'Windows has no SIGHUP',
}, async t => {
  const path = join(folder(), 'keys.json')
  const digest = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`
  writeFileSync(path, JSON.stringify({ [digest('one')]: WEB, [digest('two')]: CI }))
  const words = ['serve', '--port', '0', '--json', '--log', 'silent', '--keys', path]
  const server = spawn(process.execPath, [MAIN, ...words], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => server.kill('SIGKILL'))
  const { baseUrl } = JSON.parse(await firstOutput(server))
  const status = async (key: string) =>
    (await fetch(`${baseUrl}/pets`, { headers: { authorization: `Bearer ${key}` } })).status
  assert.deepEqual([await status('one'), await status('two')], [200, 200])
  writeFileSync(path, JSON.stringify({ [digest('two')]: CI }))
  server.kill('SIGHUP')
  assert.match(String(await once(server.stderr, 'data')), /reloaded .*: removed web\n$/)
  assert.deepEqual([await status('one'), await status('two')], [401, 200])
  server.kill('SIGTERM')
  assert.deepEqual(await once(server, 'exit'), [0, null])
})
