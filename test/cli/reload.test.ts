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

test('keys - what a file has not changed stays the same object, and is not checked again', async () => {
  const known = await checkKeys('keys.json', { a: WEB, b: CI })
  const next = await checkKeys('keys.json', { a: { ...WEB }, b: { ...CI, plan: 'pro' } }, known)
  assert.equal(next['a'], known['a'])
  assert.deepEqual(next['b'], { id: 'ci', plan: 'pro' })
  const longer = { a: WEB, c: { id: 'web', plan: 'free' } } as const
  await assert.rejects(checkKeys('keys.json', longer, known), /key 2 must be one plan for each id/)
  const stray = { a: { ...WEB, planet: 'earth' } } as never
  await assert.rejects(checkKeys('keys.json', stray, known), /key 1 has an unknown field/)
})

test('keys - many are checked in slices', async () => {
  const file = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`k${n}`, WEB]))
  const known = await checkKeys('keys.json', file)
  let turns = 0
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  await checkKeys('keys.json', { ...file, k0: { ...WEB, id: 'ci' } }, known)
  clearImmediate(counting)
  assert.ok(turns >= 3, `${turns} turns for others`)
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
