import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sqliteStorage } from '../../adapters/stores/sqlite/index.js'
import { parseJson } from '../../src/lib/json.js'
import { petToJson } from '../../src/pets/pet.js'
import type { Pet } from '../../src/pets/schema.js'
import { createRandom, type Random } from './random.js'

export interface CrashCounts {
  /** Servers that were killed. */
  states: number
  /** Creates answered 201. */
  acknowledged: number
  /** Of them, those missing or changed after any restart. */
  lost: number
  doubled: number
  /** Creates that were sent with a key, retried until they were answered, and are not stored. */
  missing: number
  /** Servers that could not open the file. */
  refused: number
}

/** A file that survives some crashes, and what it must contain; animals are identified by name. */
interface Life {
  readonly path: string
  readonly workload: Workload
  readonly sent: Set<string>
  readonly acknowledged: Map<string, string>
  /** Creates without an answer, to be sent again with their key. */
  readonly unanswered: Set<Create>
  readonly lost: Set<string>
  readonly doubled: Set<string>
  readonly missing: Set<string>
  refused: number
}

interface Create {
  readonly name: string
  readonly body: string
  /** Undefined for a client that does not retry. */
  readonly key: string | undefined
}

export interface Workload {
  readonly engine: Engine
  /** Clients send keys, and repeat every create until it is answered. */
  readonly retries: boolean
  readonly names: readonly string[]
  /** After how many commits the server compacts. */
  readonly compactEvery: number
  /** The most answers, and calls to the disk, before a kill. */
  readonly answers: number
  readonly calls: number
  readonly roundsPerFile: number
  readonly pageSize: number
}

const NAMES = ['Rex', '\0', '\ud800', '🐕‍🦺', '"quotes" \\', '__proto__', 'a\nb', 'x'.repeat(3_000)]

interface Engine {
  readonly file: string
  /** The Node that runs it, and what comes before its path, to be killed at the nth call to the disk. */
  run(dieAt: number): { readonly execPath?: string; readonly execArgv?: string[] }
  /** Everything in a file that was closed cleanly. */
  read(path: string): Promise<readonly Pet[]>
}

const JSON_FILE: Engine = {
  file: 'pets.json',
  run: () => ({}),
  async read(path) {
    const document = parseJson(fs.readFileSync(path, 'utf8'))
    return (document as { pets: Pet[] }).pets
  },
}

const SQLITE: Engine = {
  file: 'pets.sqlite',
  run: dieAt => (dieAt > 0 && HAS_STRACE ? killedByStrace(dieAt) : {}),
  async read(path) {
    const storage = sqliteStorage(path)
    assert.deepEqual(await storage.check(), [])
    const { pets } = await storage.dump()
    await storage.close()
    return pets
  },
}

export const HAS_STRACE = spawnSync('strace', ['-V']).status === 0

/** SQLite calls the disk by itself; strace kills its process at one of these calls. */
function killedByStrace(dieAt: number) {
  const calls = 'pwrite64,fdatasync,fsync,ftruncate,unlink'
  const flags = ['-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`]
  const inject = ['-e', `inject=${calls}:signal=SIGKILL:when=${dieAt}`]
  return { execPath: 'strace', execArgv: [...flags, ...inject, process.execPath] }
}

export const SMALL_NAMES: Workload = {
  engine: JSON_FILE,
  retries: false,
  names: NAMES,
  compactEvery: 5,
  answers: 150,
  calls: 250,
  roundsPerFile: 20,
  pageSize: 100,
}

/** With idempotency keys, every create is stored exactly once. */
export const RETRIES: Workload = { ...SMALL_NAMES, retries: true }

export const SQLITE_FILE: Workload = { ...RETRIES, engine: SQLITE }

export const LARGE_NAMES: Workload = {
  engine: JSON_FILE,
  retries: false,
  names: ['Rex', 'x'.repeat(900_000), 'ñ'.repeat(450_000), '\0'.repeat(150_000)],
  compactEvery: 2,
  answers: 10,
  calls: 60,
  roundsPerFile: 8,
  pageSize: 10,
}

const CONNECTIONS = 6
const agent = new Agent({ keepAlive: true })

/**
 * Creates over several connections, kills the server, restarts it and looks for every animal that
 * was acknowledged; `rounds` times. The seed says when it is killed: after a number of answers, at
 * a call to the disk under load, or at one while it opens the file.
 */
export async function crash(
  rounds: number,
  seed: number,
  workload: Workload = SMALL_NAMES,
): Promise<CrashCounts> {
  const random = createRandom(seed)
  const folder = fs.mkdtempSync(join(tmpdir(), 'crash-'))
  const lives: Life[] = []
  const { roundsPerFile } = workload
  for (let left = rounds; left > 0; left -= roundsPerFile) {
    const life = createLife(join(folder, String(lives.length)), workload)
    lives.push(life)
    for (let round = Math.min(left, roundsPerFile); round > 0; round--) await kill(life, random)
    await end(life)
    fs.rmSync(join(life.path, '..'), { recursive: true })
  }
  fs.rmSync(folder, { recursive: true })
  const sum = (count: (life: Life) => number) => lives.reduce((all, life) => all + count(life), 0)
  return {
    states: rounds,
    acknowledged: sum(life => life.acknowledged.size),
    lost: sum(life => life.lost.size),
    doubled: sum(life => life.doubled.size),
    missing: sum(life => life.missing.size),
    refused: sum(life => life.refused),
  }
}

async function kill(life: Life, random: Random): Promise<void> {
  const { engine } = life.workload
  const way = random(engine === SQLITE && !HAS_STRACE ? 2 : 5)
  const answers = way < 2 ? 1 + random(life.workload.answers) : Number.POSITIVE_INFINITY
  const dieAt = way < 2 ? 0 : way < 4 ? 40 + random(life.workload.calls) : 1 + random(40)
  const { server, gone } = start(life, dieAt)
  try {
    const port = await portOf(server, gone)
    if (port !== undefined) {
      await check(life, port).catch(afterDeath(server))
      await createAnimals(life, port, random, answers).catch(afterDeath(server))
    }
  } finally {
    server.kill('SIGKILL')
  }
  const [code, signal] = await gone
  // Under load, strace ends with 0 when its process vanished between two of its own calls.
  const isKilled = signal === 'SIGKILL' || (engine === SQLITE && dieAt > 0 && code === 0)
  if (!isKilled || fs.existsSync(markOf(life))) life.refused++
}

/** Closes cleanly, which leaves a single file. */
async function end(life: Life): Promise<void> {
  if (life.refused > 0) return
  const { server, gone } = start(life, 0)
  try {
    const port = (await portOf(server, gone)) as number
    await Promise.all([...life.unanswered].map(create => send201(life, port, create)))
    await check(life, port)
    server.disconnect()
    assert.deepEqual(await gone, [0, null])
  } finally {
    // A failed check must not leave it running, which would keep the test process alive.
    server.kill('SIGKILL')
  }
  const { engine, retries } = life.workload
  // A process that is killed while it prepares a lock leaves an empty folder.
  const names = fs.readdirSync(join(life.path, '..'))
  const left = names.filter(name => !/\.lock\.\d/.test(name))
  assert.deepEqual(left, [engine.file])
  const pets = await engine.read(life.path)
  compare(life, pets)
  if (!retries) return
  const stored = new Set(pets.map(({ name }) => name))
  for (const name of life.sent) if (!stored.has(name)) life.missing.add(name)
}

function start({ path, workload }: Life, dieAt: number) {
  const { engine, compactEvery } = workload
  fs.rmSync(markOf({ path }), { force: true })
  const args = [path, String(compactEvery), String(dieAt), markOf({ path })]
  const server = fork(new URL('server.js', import.meta.url), args, engine.run(dieAt))
  return { server, gone: once(server, 'exit') }
}

/** The file that a server leaves when it ends by itself. */
function markOf({ path }: Pick<Life, 'path'>): string {
  return `${dirname(path)}.ended`
}

async function check(life: Life, port: number): Promise<void> {
  const { pageSize } = life.workload
  const pets: Pet[] = []
  for (let after = 0; ; after = pets.at(-1)?.id ?? 0) {
    const { body } = await send(port, 'GET', `/v1/pets?limit=${pageSize}&after=${after}`)
    const page = parseJson(body) as Pet[]
    pets.push(...page)
    if (page.length < pageSize) break
  }
  compare(life, pets)
}

function compare(life: Life, pets: readonly Pet[]): void {
  const found = new Map<string, string>()
  let lastId = 0
  for (const pet of pets) {
    assert.ok(pet.id > lastId, `the id ${pet.id} came after ${lastId}`)
    lastId = pet.id
    assert.ok(life.sent.has(pet.name), `nobody sent ${pet.name.slice(0, 80)}`)
    if (found.has(pet.name)) life.doubled.add(pet.name)
    found.set(pet.name, petToJson(pet))
  }
  for (const [name, text] of life.acknowledged) {
    if (found.get(name) !== text) life.lost.add(name)
  }
}

async function createAnimals(life: Life, port: number, random: Random, answers: number) {
  let left = answers
  const retries = [...life.unanswered]
  const client = async () => {
    while (left > 0) {
      const create = retries.pop() ?? newCreate(life, random)
      await send201(life, port, create)
      // Any later attempt gets the same answer.
      if (create.key !== undefined && random(10) === 0) await send201(life, port, create)
      left--
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, client))
}

function newCreate(life: Life, random: Random): Create {
  const { names, retries } = life.workload
  const number = life.sent.size
  const name = `${number} ${names[random(names.length)]}`
  life.sent.add(name)
  const categoryId = CATEGORIES[random(CATEGORIES.length)]
  const body = `{"name":${JSON.stringify(name)},"categoryId":${categoryId}}`
  return { name, body, key: retries ? `create-${number}` : undefined }
}

async function send201(life: Life, port: number, create: Create): Promise<void> {
  const { name, body, key } = create
  if (key !== undefined) life.unanswered.add(create)
  const answer = await send(port, 'POST', '/v1/pets', body, key)
  assert.equal(answer.status, 201, answer.body.slice(0, 200))
  const earlier = life.acknowledged.get(name) ?? answer.body
  assert.equal(answer.body, earlier)
  life.acknowledged.set(name, answer.body)
  life.unanswered.delete(create)
}

const CATEGORIES = ['1', '-1', '9223372036854775807', '-9223372036854775808', '9007199254740993']

function send(port: number, method: string, path: string, body = '', key?: string) {
  return new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const headers = {
      authorization: 'Bearer crash',
      'content-length': Buffer.byteLength(body),
      ...(key !== undefined && { 'idempotency-key': `"${key}"` }),
    }
    const sent = request({ agent, port, method, path, headers }, async response => {
      try {
        let text = ''
        for await (const chunk of response.setEncoding('utf8')) text += chunk
        resolve({ status: response.statusCode, body: text })
      } catch (error) {
        reject(error)
      }
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Ignores the connection errors of a killed server, and nothing else. */
function afterDeath(server: ChildProcess) {
  return async (error: NodeJS.ErrnoException) => {
    if (error instanceof assert.AssertionError || error.code === undefined) throw error
    if (server.exitCode === null && server.signalCode === null) await once(server, 'exit')
  }
}

/** Undefined when the server was killed before it listened. */
async function portOf(server: ChildProcess, gone: Promise<unknown>): Promise<number | undefined> {
  const [port] = (await Promise.race([once(server, 'message'), gone])) as [number | null]
  return port ?? undefined
}

function createLife(folder: string, workload: Workload): Life {
  fs.mkdirSync(folder)
  return {
    path: join(folder, workload.engine.file),
    workload,
    sent: new Set(),
    acknowledged: new Map(),
    unanswered: new Set(),
    lost: new Set(),
    doubled: new Set(),
    missing: new Set(),
    refused: 0,
  }
}
