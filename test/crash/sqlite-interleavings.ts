import assert from 'node:assert/strict'
import type { Database } from '../../adapters/stores/sqlite/driver.js'
import {
  type SqliteRateLimitStore,
  type SqliteStorage,
  sqliteRateLimitStore,
  sqliteStorage,
} from '../../adapters/stores/sqlite/index.js'
import type { Pet, PetSnapshot } from '../../src/index.js'

/** One of the processes that share a file. Its calls to SQLite block it, so everything happens between them. */
export interface Process {
  readonly storage: SqliteStorage
  readonly limits: SqliteRateLimitStore
  /** Calls back before or after the call of that number, from now on. What it throws, the call throws. */
  atCall(number: number, when: 'before' | 'after', task: (call: Call) => void): void
  /** Number of calls since then. */
  calls(): number
  /** Closes its connections in the middle of everything: SQLite rolls back. It answers nothing any more. */
  kill(): void
  /** Does what it is asked with connections of this process. */
  as<T>(task: () => T): T
}

export interface Call {
  readonly sql: string
  readonly isLocked: boolean
  /** Ends the transaction, as SQLite does by itself after some failures. */
  readonly rollBack: () => void
}

export interface Request {
  /** Resolves with what it was answered. */
  readonly send: (process: Process, by: string) => Promise<Answer>
  readonly isRestore?: boolean
}

export interface Answer {
  readonly created?: readonly Pet[]
  readonly read?: readonly Pet[]
  readonly counted?: number
}

const POLICY = { perMinute: 1_000, perDay: 1_000 }
const SHARED = { scope: 'key', idempotencyKey: 'shared', fingerprint: '', expiresAt: 1e15 }
export const SNAPSHOT: PetSnapshot = {
  pets: [4, 7].map(id => ({ id, name: `restored ${id}`, categoryId: 1 })),
  nextId: 9,
}
const pet = (name: string) => ({ name, categoryId: 1 })

/** All that a process does with its file, once each. */
export const REQUESTS: Readonly<Record<string, Request>> = {
  create: { send: async ({ storage }, by) => ({ created: [await storage.insert(pet(by))] }) },
  'create with a key': {
    send: async ({ storage }) => {
      const { pet: created } = await storage.insertOnce(pet('shared'), SHARED, 0)
      return { created: [created] }
    },
  },
  'creates at once': {
    async send({ storage }, by) {
      const inserts = [1, 2, 3].map(n => storage.insert(pet(`${by} ${n}`)))
      return { created: await Promise.all(inserts) }
    },
  },
  list: { send: async ({ storage }) => ({ read: await storage.list({ limit: 100 }) }) },
  dump: { send: async ({ storage }) => ({ read: (await storage.dump()).pets }) },
  restore: {
    isRestore: true,
    async send({ storage, as }) {
      await as(() => storage.restore(SNAPSHOT))
      return {}
    },
  },
  count: {
    async send({ limits }) {
      await limits.consume('key', POLICY, 0)
      return { counted: 1 }
    },
  },
}

/**
 * Two processes that have a file open. Each has made a create and a count: only from then on, a process that is idle
 * answers at once, and so between two statements of the other.
 */
export async function openProcesses(path: string): Promise<readonly [Process, Process]> {
  const processes = [await openProcess(path), await openProcess(path)] as const
  for (const [at, { storage, limits }] of processes.entries()) {
    await storage.insert(pet(BEGIN[at]?.name as string))
    await limits.consume('key', POLICY, 0)
  }
  return processes
}

const BEGIN = ['Rex', 'Mia'].map((name, at) => ({ id: at + 1, name, categoryId: 1 }))

async function openProcess(path: string): Promise<Process> {
  const databases = new Set<Database>()
  let isDead = false
  let calls = 0
  let alarm: { at: number; when: string; task: (call: Call) => void } | undefined
  const as = <T>(task: () => T): T => withDriver(open, task)
  const [storage, limits] = [sqliteStorage(path), sqliteRateLimitStore(path)]
  await as(storage.ready)
  await as(limits.ready)
  return {
    storage,
    limits,
    atCall(at, when, task) {
      calls = 0
      alarm = { at, when, task }
    },
    calls: () => calls,
    kill() {
      isDead = true
      for (const database of databases) database.close()
      databases.clear()
    },
    as,
  }

  function open(real: Database): Database {
    databases.add(real)
    let isLocked = false
    return {
      exec: sql => call(sql, () => real.exec(sql)),
      prepare(sql) {
        const statement = real.prepare(sql)
        return {
          run: (...values) => call(sql, () => statement.run(...values)),
          get: (...values) => call(sql, () => statement.get(...values)),
          all: (...values) => call(sql, () => statement.all(...values)),
        }
      },
      close() {
        if (databases.delete(real)) real.close()
      },
    }

    function call<T>(sql: string, run: () => T): T {
      const number = calls++
      ring(number, 'before', sql)
      const result = run()
      if (/^(BEGIN|COMMIT|ROLLBACK)/.test(sql)) isLocked = sql.startsWith('BEGIN')
      ring(number, 'after', sql)
      return result
    }

    function ring(number: number, when: 'before' | 'after', sql: string): void {
      if (!isDead && alarm?.at === number && alarm.when === when) {
        const { task } = alarm
        alarm = undefined
        task({ sql, isLocked, rollBack })
      }
      if (isDead) throw new Error('The process is dead')
    }

    function rollBack(): void {
      if (isLocked) real.exec('ROLLBACK')
      isLocked = false
    }
  }
}

/** The adapter asks for the driver of Node at once, each time it opens a file. */
function withDriver<T>(watched: (real: Database) => Database, task: () => T): T {
  const find = process.getBuiltinModule
  const { DatabaseSync } = find('node:sqlite' as 'node:fs') as never as {
    DatabaseSync: new (path: string) => Database
  }
  function Watched(path: string): Database {
    return watched(new DatabaseSync(path))
  }
  Object.assign(process, { getBuiltinModule: () => ({ DatabaseSync: Watched }) })
  try {
    return task()
  } finally {
    Object.assign(process, { getBuiltinModule: find })
  }
}

/** The invariants of the file once all requests are over. */
export async function checkFile(
  { storage, limits }: Process,
  sent: readonly Request[],
  answers: readonly Answer[],
): Promise<void> {
  assert.deepEqual(await storage.check(), [])
  const { pets, nextId } = await storage.dump()
  const isRestored = sent.some(({ isRestore }) => isRestore)
  const stored = new Map(pets.map(({ id, name }) => [id, name]))
  const names = pets.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length, `stored twice: ${names.join(', ')}`)
  const isNew = pets.some(({ name }) => name === SNAPSHOT.pets[0]?.name)
  const base = isNew ? SNAPSHOT.pets : BEGIN
  const first = isNew ? SNAPSHOT.nextId : BEGIN.length + 1
  const ids = [...base.map(({ id }) => id), ...pets.slice(base.length).map((_, at) => first + at)]
  assert.deepEqual([...stored.keys()], ids)
  assert.equal(nextId, first + pets.length - base.length)
  assert.ok(base.every(({ id, name }) => stored.get(id) === name))
  for (const { created = [], read = [] } of answers) {
    for (const { id, name } of isRestored ? [] : [...created, ...read]) {
      assert.equal(stored.get(id), name, `${id} was ${name}`)
    }
    // A list shows one state: all ids up to the last.
    const [one] = read
    const start = one?.id === SNAPSHOT.pets[0]?.id ? SNAPSHOT.pets : BEGIN
    if (one) assert.deepEqual(read.slice(0, start.length), start)
    const after = read.slice(start.length).map(({ id }) => id)
    const next = start === BEGIN ? BEGIN.length + 1 : SNAPSHOT.nextId
    assert.deepEqual(
      after,
      after.map((_, at) => next + at),
    )
  }
  const shared = answers
    .flatMap(({ created = [] }) => created)
    .filter(({ name }) => name === 'shared')
  if (!isRestored) assert.ok(new Set(shared.map(({ id }) => id)).size <= 1, 'one key, two animals')
  const counted = answers.filter(({ counted }) => counted).length
  const asked = sent.filter(request => request === REQUESTS['count']).length
  const count = Number((await limits.inspect('key'))?.dayCount) - BEGIN.length
  assert.ok(count >= counted && count <= asked, `${count} of ${asked} were counted`)
}
