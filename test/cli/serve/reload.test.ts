import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { test } from 'node:test'
import { checkKeys, readKeyFile } from '../../../adapters/cli/seed-and-keys-files.js'
import { createApiKeys } from '../../../src/protocol/api-keys.js'
import { temporaryFolders } from '../../stores/json-file/json-files.js'
import { firstOutput } from '../../support/first-output.js'
import { MAIN } from '../../support/paths.js'
import { served } from '../../support/served.js'

const folder = temporaryFolders()
const keyFile = (text: string) => {
  const path = join(folder(), 'keys.json')
  writeFileSync(path, text)
  return path
}
const WEB = { id: 'web', plan: 'pro' } as const
const CI = { id: 'ci', plan: 'free' } as const

test('keys - what a file has not changed stays the same object', async () => {
  const check = (file: object, ...known: Awaited<ReturnType<typeof checkKeys>>[]) =>
    checkKeys('keys.json', new Map(Object.entries(file)), ...known)
  const known = await check({ a: WEB, b: CI })
  const next = await check({ a: { ...WEB }, b: { ...CI, plan: 'pro' } }, known)
  assert.equal(next.get('a'), known.get('a'))
  assert.deepEqual(next.get('b'), { id: 'ci', plan: 'pro' })
  const longer = { a: WEB, c: { id: 'web', plan: 'free' } }
  await assert.rejects(check(longer, known), /key 2 must be one plan for each id/)
  await assert.rejects(check({ a: { ...WEB, planet: 'earth' } }, known), /key 1 has an unknown/)
})

const MANY = Array.from({ length: 3_000 }, (_, n) => `"k\\"},{${n}": {"id": "${n}", "plan": "pro"}`)

test('keys - many are checked in slices', async () => {
  const file = await readKeyFile(keyFile(`{${MANY.join(',\n')}}`))
  let turns = 0
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  await checkKeys('keys.json', file)
  clearImmediate(counting)
  assert.ok(turns >= 3, `${turns} turns for others`)
  assert.equal(file.size, 3_000)
  assert.deepEqual(file.get('k"},{2999'), { id: '2999', plan: 'pro' })
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
  const { child: server, ready, stop } = await served(t, ['--log', 'silent', '--keys', path])
  const status = async (key: string) =>
    (await fetch(`${ready.baseUrl}/pets`, { headers: { authorization: `Bearer ${key}` } })).status
  assert.deepEqual([await status('one'), await status('two')], [200, 200])
  writeFileSync(path, JSON.stringify({ [digest('two')]: CI }))
  server.kill('SIGHUP')
  assert.match(String(await once(server.stderr as Readable, 'data')), /reloaded .*: removed web\n$/)
  assert.deepEqual([await status('one'), await status('two')], [401, 200])
  const many = Array.from({ length: 60 }, (_, n) => [digest(`k${n}`), { ...WEB, id: `w${n}` }])
  writeFileSync(path, JSON.stringify(Object.fromEntries([[digest('two'), CI], ...many])))
  server.kill('SIGHUP')
  const line = String(await once(server.stderr as Readable, 'data'))
  assert.match(line, /reloaded .*: added w0, w1, w2, w3, w4 and 55 more\n$/)
  assert.equal((await stop()).code, 0)
})

test('keys - SIGHUP ends a server in a terminal, whose window was closed', {
  skip: !existsSync('/usr/bin/script'),
}, async t => {
  const path = join(folder(), 'keys.json')
  writeFileSync(path, JSON.stringify({ one: WEB }))
  const words = [
    process.execPath,
    MAIN,
    'serve',
    '--port',
    '0',
    '--json',
    '--log',
    'silent',
    '--keys',
    path,
  ]
  const terminal = spawn('/usr/bin/script', ['-qec', `exec '${words.join("' '")}'`, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const { pid } = JSON.parse(await firstOutput(terminal))
  t.after(() => terminal.kill('SIGKILL'))
  process.kill(pid, 'SIGHUP')
  assert.deepEqual(await once(terminal, 'exit'), [129, null])
})
