import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, test as anywhere } from 'node:test'
import { promisify } from 'node:util'
import pg from 'pg'
import { storageSuite } from '../../../adapters/stores/kit/suite.js'
import {
  type PostgresClient,
  type PostgresOptions,
  type PostgresPool,
  type PostgresQuery,
  type PostgresStorage,
  postgresStorage,
} from '../../../adapters/stores/postgres/index.js'
import { createDatabase } from '../../../adapters/stores/postgres/pool.js'
import { MIGRATIONS, migrate } from '../../../adapters/stores/postgres/schema.js'
import { createStatements } from '../../../adapters/stores/postgres/statements.js'
import type { Pet } from '../../../src/pets/schema.js'
import { PET_STATUSES } from '../../../src/pets/specification.js'
import { createStore } from '../../../src/store.js'
import {
  PATIENT,
  startPgBouncer,
  startPostgres,
  withoutPgBouncer,
  withoutPostgres,
} from '../../engines/engines.js'
import { testUnless } from '../../support/test-unless.js'
import { gate } from '../../support/waiting.js'
import { rejectsInvalidPets } from '../kit/invalid-pets.js'
import { once } from '../kit/once.js'

const skip = withoutPostgres
const test = testUnless(skip)
const engine = skip ? undefined : await startPostgres('max_connections=200')
const pool = new pg.Pool({ connectionString: engine?.url ?? '' })
// `end` does not wait for its connections to close, and the engine stops right after it.
pool.on('error', () => {})
// As before an upgrade by logical replication: all changes of all tables must be possible.
if (!skip) await pool.query('CREATE PUBLICATION everything FOR ALL TABLES')
const opened: PostgresStorage[] = []
after(async () => {
  for (const storage of opened) await storage.close()
  await pool.end()
  await engine?.stop()
})
const REX = { name: 'Rex', categoryId: 1, status: 'available' } as const
let schemas = 0
const schemaOf = new WeakMap<PostgresStorage, string>()

storageSuite((name, run) => test(`postgres - ${name}`, run), {
  create: () => unopened(),
  async reopen(storage) {
    const schema = schemaOf.get(storage as PostgresStorage) as string
    await (storage as PostgresStorage).close()
    return unopened({ schema })
  },
  idempotency: true,
})

for (const table of ['pets', 'pet_keys']) {
  test(`postgres - a trigger of ${table} that ignores inserts is an error, and nothing is stored`, async () => {
    const storage = await open()
    const schema = schemaOf.get(storage) as string
    await storage.insert(REX)
    await pool.query(`CREATE FUNCTION ${schema}.ignoring() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER ignoring BEFORE INSERT ON ${schema}.${table}
        FOR EACH ROW EXECUTE FUNCTION ${schema}.ignoring()`)
    const ignored = /not stored: a trigger of the tables ignores inserts; remove it/
    await assert.rejects(storage.insertOnce(REX, once('k'), 0), ignored)
    if (table === 'pets') {
      await assert.rejects(storage.insert(REX), ignored)
      await assert.rejects(Promise.all([storage.insert(REX), storage.insert(REX)]), ignored)
    }
    assert.deepEqual(await storage.dump(), { pets: [{ id: 1, ...REX }], nextId: 2 })
  })
}

test('postgres - a client that pages with `after` misses nothing from two writers', async () => {
  const one = await open()
  const schema = schemaOf.get(one) as string
  const other = await open({ schema })
  const seen: number[] = []
  const inserts = [one, other].flatMap(storage =>
    Array.from({ length: 40 }, async () => {
      for (let n = 0; n < 25; n++) await storage.insert(REX)
    }),
  )
  const written = Promise.all(inserts)
  while (seen.length < 2_000) {
    const page = await one.list({ limit: 100, after: seen.at(-1) })
    seen.push(...page.map(pet => pet.id))
  }
  await written
  assert.deepEqual(
    seen,
    Array.from({ length: 2_000 }, (_, at) => at + 1),
  )
})

test('postgres - a batch whose response was lost is sent again, and stored once', async () => {
  let attempts = 0
  const storage = await open({
    pool: watchedPool(async (query, next) => {
      const answer = await next()
      if (isBatch(query) && ++attempts % 3 !== 0) throw connectionLost()
      return answer
    }),
  })
  const batches = [1, 2, 3].map(batch => Array.from({ length: 50 }, (_, n) => `${batch}-${n}`))
  for (const names of batches) {
    await Promise.all(names.map(name => storage.insert({ ...REX, name })))
  }
  const { pets, nextId } = await storage.dump()
  assert.deepEqual(pets.map(pet => pet.name).toSorted(), batches.flat().toSorted())
  assert.deepEqual({ attempts, nextId }, { attempts: 9, nextId: 151 })
})

test('postgres - a read whose connection is lost is sent again', async () => {
  const lost = new Set<string>()
  let isOpen = false
  const storage = await open({
    pool: watchedPool((query, next) => {
      if (!isOpen || lost.has(query.text)) return next()
      lost.add(query.text)
      throw connectionLost()
    }),
  })
  await storage.insert(REX)
  isOpen = true
  assert.deepEqual(await storage.find(1), { id: 1, ...REX })
  assert.deepEqual(await storage.list({ limit: 2 }), [{ id: 1, ...REX }])
  assert.equal(lost.size, 2, [...lost].join('\n'))
})

test('postgres - a statement that the database refuses permanently is not sent again', async () => {
  let attempts = 0
  const storage = await open({
    pool: watchedPool((query, next) => {
      if (isBatch(query)) attempts++
      return next()
    }),
  })
  await storage.restore({ pets: [], nextId: Number.MAX_SAFE_INTEGER })
  await assert.rejects(storage.insert(REX), { code: '23514' })
  assert.equal(attempts, 1)
})

test('postgres - an invalid animal is rejected without failing its batch', async () => {
  await rejectsInvalidPets(await open())
})

test('postgres - a batch holds at most 500 pets, and 1 MiB unless a single pet is larger', async () => {
  const batches: number[] = []
  const storage = await open({
    pool: watchedPool((query, next) => {
      if (isBatch(query)) batches.push((query.values as [string[]])[0].length)
      return next()
    }),
  })
  await Promise.all(Array.from({ length: 1_200 }, () => storage.insert(REX)))
  assert.deepEqual(batches.splice(0), [500, 500, 200])
  const sizes = [400_000, 400_000, 400_000, 2_000_000, 1]
  const names = sizes.map(size => 'x'.repeat(size))
  await Promise.all(names.map(name => storage.insert({ ...REX, name })))
  assert.deepEqual(batches, [2, 1, 1, 1])
  const stored = await storage.list({ limit: 100, after: 1_200 })
  const lengths = stored.map(pet => pet.name.length)
  assert.deepEqual(lengths, sizes)
})

for (const kind of ['lists', 'finds']) {
  test(`postgres - waiting ${kind} share one query, which shows earlier inserts`, async () => {
    const held = holdQueries(query => query.text.includes(kind === 'lists' ? 'LIMIT' : '= ANY'))
    const storage = await open({ pool: held.pool })
    const read = (limit: number, after?: number) =>
      kind === 'lists' ? storage.list({ limit, after }) : storage.find(after ? 2 : 1)
    const first = read(10)
    await held.arrived()
    const pet = await storage.insert(REX)
    const waiting = Array.from({ length: 50 }, (_, at) => read(10 + (at % 3)))
    const later = read(10, 1)
    held.release()
    const [page, none] = kind === 'lists' ? [[pet], []] : [pet, undefined]
    assert.deepEqual(await first, none)
    for (const answer of await Promise.all(waiting)) assert.deepEqual(answer, page)
    assert.deepEqual(await later, none)
    assert.equal(held.count, 2)
  })
}

test('postgres - lists that are read together are as if read alone', async () => {
  const storage = await open()
  const statuses = [...PET_STATUSES, undefined]
  const pets = Array.from({ length: 60 }, (_, at) => ({ ...REX, status: statuses[at % 4] }))
  await Promise.all(pets.map(pet => storage.insert(pet)))
  const filters = statuses.flatMap(status =>
    [1, 7, 100].flatMap(limit => [0, 30, 60].map(after => ({ status, limit, after }))),
  )
  const alone: (readonly Pet[])[] = []
  for (const filter of filters) alone.push(await storage.list(filter))
  assert.deepEqual(await Promise.all(filters.map(storage.list)), alone)
  assert.ok(alone.some(page => page.length > 7))
  await assert.rejects(
    async () => storage.list({ limit: 10_001 }),
    /at most 10000, got 10001; read/,
  )
})

test('postgres - no plan compiles or reads the whole table', async () => {
  const schema = schemaOf.get(await open()) as string
  const statements = createStatements(schema, { prepare: false, timeline: true })
  const client = await pool.connect()
  try {
    await client.query(`INSERT INTO ${schema}.pets
      SELECT id, '"Rex"', 1, CASE WHEN id % 40000 = 0 THEN 'sold' ELSE 'available' END
      FROM generate_series(1, 200000) AS id`)
    await client.query(`ANALYZE ${schema}.pets`)
    // Not analyzed: the plans of a young table must hold while it grows.
    await client.query(`INSERT INTO ${schema}.pet_keys
      SELECT '"web"', '"k' || id || '"', '', 1e12, id, '${'0'.repeat(32)}'
      FROM generate_series(1, 200000) AS id`)
    const batch = `'{"\\"Rex\\""}', '{1}', '{sold}', '${'0'.repeat(32)}', 1`
    for (const mode of ['force_generic_plan', 'force_custom_plan', 'auto']) {
      await client.query(`SET plan_cache_mode = ${mode}`)
      for (const status of PET_STATUSES) {
        const plan = await explain(statements.list[status].text, "'{0}', '{20}'")
        assert.match(plan, new RegExp(`Index Scan using pets_${status}`))
      }
      const all = await explain(statements.list.all.text, "'{199000}', '{20}'")
      for (const plan of [all, await explain(statements.find.text, "'{1}'")]) {
        assert.match(plan, /Index Scan using pets_pkey/)
        assert.doesNotMatch(plan, /JIT|Seq Scan on pets/)
      }
      const insert = await explain(statements.insertBatch.text, batch)
      assert.doesNotMatch(insert, /JIT/)
      // Far below 100,000, where PostgreSQL compiles.
      for (const plan of [insert, all]) {
        const cost = Number(/cost=[\d.]+\.\.([\d.]+)/.exec(plan)?.[1])
        assert.ok(cost > 0 && cost < 3_000, `the statement costs ${cost}`)
      }
      const keys = `'{"\\"web\\""}', '{"\\"k1\\""}'`
      const keyed = `'{"\\"Rex\\""}', '{1}', '{sold}', ${keys}, '{a}', '{2e12}', '{1}', '${'0'.repeat(32)}'`
      for (const plan of [
        await explain(statements.insertOnce.text, keyed),
        await explain(statements.forget.text, `${keys}, '{1}'`),
      ]) {
        assert.match(plan, /(Index|Bitmap Index) Scan (using|on) pet_keys_used/)
        assert.doesNotMatch(plan, /JIT|Seq Scan on (pets|pet_keys)/)
      }
      const once = await explain(statements.insertOnce.text, keyed)
      assert.match(once, /Index Scan using pet_keys_expires/)
    }
  } finally {
    client.release(true)
  }

  async function explain(text: string, values: string): Promise<string> {
    await client.query(`PREPARE tested AS ${text}`)
    const { rows } = await client.query(`EXPLAIN EXECUTE tested(${values})`)
    await client.query('DEALLOCATE tested')
    return rows.map(row => row['QUERY PLAN']).join('\n')
  }
})

test('postgres - an older schema is migrated, with its animals', async () => {
  const storage = await open()
  const schema = schemaOf.get(storage) as string
  const { id } = await storage.insert(REX)
  const next = [...MIGRATIONS, () => `ALTER TABLE ${schema}.pets ADD COLUMN note text`]
  await migrate(createDatabase(pool, PATIENT.timeout), `"${schema}"`, next)
  const { rows } = await pool.query(`SELECT id::int, note FROM ${schema}.pets`)
  assert.deepEqual(rows, [{ id, note: null }])
  await assert.rejects(open({ schema }), {
    name: 'PostgresError',
    message: `The schema "${schema}" has version ${next.length}, and this package knows ${MIGRATIONS.length}; update animal-adoption-store`,
  })
})

test('postgres keys - two processes that send the same creates store each once, without gaps', async () => {
  const one = await open()
  const other = await open({ schema: schemaOf.get(one) as string })
  const creates = Array.from({ length: 400 }, (_, at) => once(`k${at % 100}`))
  const answers = await Promise.all(
    creates.map((create, at) => (at % 3 === 0 ? one : other).insertOnce(REX, create, 0)),
  )
  const { pets, nextId, idempotencyKeys = [] } = await one.dump()
  assert.deepEqual(
    pets.map(({ id }) => id),
    Array.from({ length: 100 }, (_, at) => at + 1),
  )
  assert.deepEqual([nextId, idempotencyKeys.length], [101, 100])
  assert.equal(answers.filter(({ replayed }) => !replayed).length, 100)
  for (const [at, { pet }] of answers.entries()) assert.equal(pet.id, answers[at % 100]?.pet.id)
})

test('postgres keys - a batch whose response was lost is no replay, and stored once', async () => {
  let attempts = 0
  const storage = await open({
    pool: watchedPool(async (query, next) => {
      const answer = await next()
      if (isKeyedBatch(query) && ++attempts % 3 !== 0) throw connectionLost()
      return answer
    }),
  })
  for (const isReplay of [false, true]) {
    const creates = [1, 2, 3].map(key => storage.insertOnce(REX, once(`k${key}`), 0))
    for (const [at, { pet, replayed }] of (await Promise.all(creates)).entries()) {
      assert.deepEqual([pet.id, replayed], [at + 1, isReplay])
    }
  }
  assert.equal(await storage.count(), 3)
})

test('postgres keys - a key that another process uses during the statement is a replay', async () => {
  const statements: string[] = []
  const storage = await open({
    pool: watchedPool((query, next) => {
      statements.push(query.text.split(' ', 1)[0] ?? '')
      return next()
    }),
  })
  const schema = schemaOf.get(storage) as string
  statements.length = 0
  const other = await pool.connect()
  await other.query('BEGIN')
  await other.query(`UPDATE ${schema}.pet_ids SET next = 2`)
  const both = Promise.all([
    storage.insertOnce(REX, once('k'), 0),
    storage.insertOnce(REX, once('new'), 0),
  ])
  await waitForLock(schema)
  await other.query(`INSERT INTO ${schema}.pets VALUES (1, '"Rex"', 1, 'available');
    INSERT INTO ${schema}.pet_keys VALUES ('"web"', '"k"', 'f', 1000, 1, '${'0'.repeat(32)}')`)
  await other.query('COMMIT')
  other.release()
  const [replay, fresh] = await both
  assert.deepEqual(replay, { pet: { id: 1, ...REX }, fingerprint: 'f', replayed: true })
  assert.deepEqual([fresh.pet.id, fresh.replayed], [2, false])
  assert.deepEqual(statements.slice(0, 3), ['WITH', 'DELETE', 'WITH'])
})

test('postgres keys - a key is free once its animal was deleted by hand', async () => {
  const storage = await open()
  const schema = schemaOf.get(storage) as string
  await storage.insertOnce(REX, once('k'), 0)
  await storage.insertOnce(REX, once('l'), 0)
  await pool.query(`DELETE FROM ${schema}.pets WHERE id = 1`)
  const [freed, kept] = await Promise.all([
    storage.insertOnce(REX, once('k'), 0),
    storage.insertOnce(REX, once('l'), 0),
  ])
  assert.deepEqual([freed.pet.id, freed.replayed], [3, false])
  assert.deepEqual([kept.pet.id, kept.replayed], [2, true])
})

test('postgres keys - an insert deletes the two oldest expired keys that are not locked', async () => {
  const storage = await open()
  const schema = schemaOf.get(storage) as string
  await pool.query(`INSERT INTO ${schema}.pet_keys
    SELECT '"web"', '"k' || id || '"', '', id, 1, '${'0'.repeat(32)}'
    FROM generate_series(1, 5) AS id`)
  const other = await pool.connect()
  await other.query('BEGIN')
  await other.query(`SELECT FROM ${schema}.pet_keys WHERE expires = 2 FOR UPDATE`)
  await storage.insertOnce(REX, { ...once('new'), expiresAt: 60_000 }, 4)
  await other.query('COMMIT')
  other.release()
  const { rows } = await pool.query(`SELECT expires FROM ${schema}.pet_keys ORDER BY expires`)
  const left = rows.map(row => row.expires)
  assert.deepEqual(left, [2, 4, 5, 60_000])
})

test('postgres - a role without CREATE can use an existing schema', async () => {
  const schema = schemaOf.get(await open()) as string
  await pool.query(`CREATE ROLE clerk LOGIN;
    GRANT USAGE ON SCHEMA ${schema} TO clerk;
    GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO clerk`)
  const url = engine?.url.replace('adoption@', 'clerk@') as string
  assert.equal((await (await open({ url, schema })).insert(REX)).id, 1)
  await assert.rejects(open({ url }), /may not create the tables; grant CREATE on the database/)
  await pool.query('CREATE SCHEMA prepared; GRANT USAGE, CREATE ON SCHEMA prepared TO clerk')
  assert.equal((await (await open({ url, schema: 'prepared' })).insert(REX)).id, 1)
})

test('postgres - what weakens a guarantee is a warning, and ping needs no right to see the timeline', async () => {
  assert.deepEqual((await open()).warnings(), [])
  const storage = await open({
    pool: watchedPool(async (query, next) => {
      // As Aurora does, and a role from which the right was revoked.
      if (query.text.includes('pg_walfile_name')) throw { code: '42501', message: 'denied' }
      const answer = await next()
      if (answer.rows?.[0]?.commits) answer.rows[0].commits = 'off'
      return answer
    }),
  })
  const [durability, timeline] = storage.warnings()
  assert.match(durability ?? '', /^synchronous_commit is off: /)
  assert.match(timeline ?? '', /may not call pg_current_wal_insert_lsn/)
  await storage.ping()
})

test('postgres - a 503 of damaged data names check, which finds and repairs it', async () => {
  const storage = await open()
  const schema = schemaOf.get(storage) as string
  const store = createStore({ storage, apiKeys: {} })
  const create = () => store.createPet(REX)
  const createOnce = () => storage.insertOnce(REX, once('k'), 0)
  await create()
  assert.deepEqual(await storage.check(), [])
  const seed = () => storage.restoreIfNew({ pets: [], nextId: 1 })
  for (const [damage, found, ...failing] of [
    [
      'UPDATE pet_ids SET next = 1',
      /^next in pet_ids is 1, but the largest id is 1/,
      create,
      createOnce,
    ],
    ['DELETE FROM pet_ids', /^pet_ids is empty, so nothing/, create, createOnce, seed],
    ["UPDATE pets SET name = '7'", /^1 names are not JSON strings/],
  ] as const) {
    await pool.query(damage.replace('pet', `${schema}.pet`))
    for (const call of failing) {
      await assert.rejects(call, { status: 503, message: /run: .* check postgres:$/ })
    }
    const [problem = '', ...others] = await storage.check()
    assert.match(problem, found)
    assert.deepEqual(others, [])
    await pool.query(problem.split('run: ')[1] as string)
    assert.deepEqual(await storage.check(), [])
  }
  assert.equal((await storage.find(1))?.name, '7')
  assert.deepEqual([(await create()).id, (await createOnce()).pet.id], [2, 3])
})

test('postgres - opening removes writers older than a day', async () => {
  const storage = await open()
  const schema = schemaOf.get(storage) as string
  await storage.insert(REX)
  const writers = async () => (await pool.query(`SELECT 1 FROM ${schema}.pet_writers`)).rows.length
  await open({ schema })
  assert.equal(await writers(), 1)
  await pool.query(`UPDATE ${schema}.pet_writers SET seen = now() - interval '25 hours'`)
  await open({ schema })
  assert.equal(await writers(), 0)
  assert.equal((await storage.insert(REX)).id, 2)
})

test('postgres - a seed is stored once, and never over other animals', async () => {
  const storage = await open()
  const other = await open({ schema: schemaOf.get(storage) as string })
  const seed = { pets: [{ id: 1, ...REX }], nextId: 2 }
  const seeded = await Promise.all([storage.restoreIfNew(seed), other.restoreIfNew(seed)])
  assert.deepEqual(seeded.toSorted(), [false, true])
  await storage.insert(REX)
  assert.equal(await other.restoreIfNew(seed), false)
  assert.equal(await other.count(), 2)
})

test('postgres - a given pool may return all values as text', async () => {
  const types = {
    getTypeParser: () => (value: unknown) => value,
  } as unknown as pg.CustomTypesConfig
  const texts = new pg.Pool({ connectionString: engine?.url ?? '', types })
  const storage = await open({ pool: texts })
  const inserted = await storage.insertOnce(REX, once('k'), 0)
  assert.deepEqual(inserted, {
    pet: { id: 1, ...REX },
    fingerprint: once('').fingerprint,
    replayed: false,
  })
  const again = await storage.insertOnce(REX, once('k'), 0)
  assert.deepEqual(again, { ...inserted, replayed: true })
  assert.deepEqual(await storage.list({ limit: 2, after: 0 }), [await storage.find(1)])
  assert.equal(await storage.count(), 1)
  assert.deepEqual(await storage.check(), [])
  assert.deepEqual((await storage.dump()).pets, [inserted.pet])
  await storage.close()
  await texts.end()
})

test('postgres - a given pool is used and left open', async () => {
  const storage = postgresStorage({ pool, schema: 'hosted', ...PATIENT })
  await storage.ready()
  const listeners = pool.listenerCount('error')
  await storage.insert(REX)
  await storage.close()
  await storage.close()
  assert.equal(pool.listenerCount('error'), listeners - 1)
  assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1)
  for (const call of [() => storage.insert(REX), () => storage.find(1), () => storage.dump()]) {
    await assert.rejects(async () => call(), {
      name: 'PostgresError',
      message: 'The storage is closed',
    })
  }
})

test('postgres - close finishes waiting inserts', async () => {
  const storage = await open()
  const inserts = [1, 2, 3].map(() => storage.insert(REX))
  await storage.close()
  const ids = (await Promise.all(inserts)).map(pet => pet.id)
  assert.deepEqual(ids, [1, 2, 3])
})

test('postgres - an open storage does not keep its process alive', async () => {
  const script = `
    import { postgresStorage } from '${new URL('../../../adapters/stores/postgres/index.js', import.meta.url)}'
    const storage = postgresStorage({ url: '${engine?.url}', schema: 'brief', timeout: 60_000 })
    console.log((await storage.insert({ name: 'Rex', categoryId: 1 })).id)`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 60_000 })
  assert.equal(stdout, '1\n')
})

anywhere(
  'postgres - works behind PgBouncer in transaction mode',
  {
    skip: withoutPgBouncer,
  },
  async () => {
    await using bouncer = await startPgBouncer(engine as NonNullable<typeof engine>)
    const storage = await open({ url: bouncer.url })
    const twin = await open({ url: bouncer.url, schema: schemaOf.get(storage) as string })
    for (let round = 0; round < 10; round++) {
      const both = [storage, twin].flatMap(one => [
        one.insert(REX),
        one.find(1),
        one.list({ limit: 2 }),
      ])
      await Promise.all(both)
    }
    assert.equal((await storage.dump()).nextId, 21)
    await storage.close()
    await twin.close()
  },
)

async function open(options: Partial<PostgresOptions> = {}): Promise<PostgresStorage> {
  const storage = unopened(options)
  await storage.ready()
  return storage
}

function unopened(options: Partial<PostgresOptions> = {}): PostgresStorage {
  const { schema = `s${schemas++}`, ...rest } = options
  const access = rest.pool || rest.url ? rest : { url: engine?.url as string }
  const storage = postgresStorage({ ...PATIENT, ...access, schema })
  schemaOf.set(storage, schema)
  opened.push(storage)
  return storage
}

/** A pool whose queries pass through a function. */
function watchedPool(
  watch: (
    query: PostgresQuery,
    next: () => ReturnType<PostgresClient['query']>,
  ) => ReturnType<PostgresClient['query']>,
): PostgresPool {
  const real = pool
  return {
    async connect() {
      const client = await real.connect()
      return {
        query: query => watch(query, () => client.query(query)),
        release: error => client.release(error),
        on: (name, listener) => client.on(name, listener),
        off: (name, listener) => client.off(name, listener),
      }
    },
    on: (name, listener) => real.on(name, listener),
    off: (name, listener) => real.off(name, listener),
  }
}

/** A pool that holds the first of the queries that match until it is released. */
function holdQueries(matches: (query: PostgresQuery) => boolean) {
  const held = gate()
  const arrived = gate()
  let count = 0
  const watched = watchedPool(async (query, next) => {
    if (!matches(query)) return next()
    const answer = next()
    if (++count === 1) {
      await answer
      arrived.open()
      await held.passed
    }
    return answer
  })
  return {
    pool: watched,
    arrived: () => arrived.passed,
    release: () => held.open(),
    get count() {
      return count
    },
  }
}

function isBatch(query: PostgresQuery): boolean {
  return query.text.startsWith('WITH counter')
}

function isKeyedBatch(query: PostgresQuery): boolean {
  return query.text.startsWith('WITH given')
}

/** Until a statement on the schema waits for a lock. */
async function waitForLock(schema: string): Promise<void> {
  const text = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1`
  while ((await pool.query(text, [`%"${schema}"%`])).rowCount === 0);
}

function connectionLost(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
}
