import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test as anywhere } from 'node:test'
import { inspect } from 'node:util'
import pg from 'pg'
import { type PostgresOptions, postgresStorage } from '../../../adapters/stores/postgres/index.js'
import * as pool from '../../../adapters/stores/postgres/pool.js'
import { OptionError } from '../../../src/index.js'
import {
  createDatabase,
  type Engine,
  freePort,
  PATIENT,
  startHttpServer,
  startPostgres,
  startSecurePostgres,
  withoutOpenSsl,
  withoutPostgres,
} from '../../engines/engines.js'
import { testUnless } from '../../support/test-unless.js'
import { gate } from '../../support/waiting.js'

const skip = withoutPostgres
const test = testUnless(skip)
const engine = skip ? undefined : await startPostgres()
after(() => engine?.stop())
const REX = { name: 'Rex', categoryId: 1 }

anywhere('postgres - invalid options are rejected, and show no URL', async () => {
  const cases: [PostgresOptions, RegExp][] = [
    [{}, /Expected either `url` or `pool`/],
    [{ url: 'mysql://me:s3cret@db/x' }, /`url` to be like postgres:\/\//],
    [{ url: 'postgres://me:s3cret@db:port/x' }, /`url` to be like postgres:\/\//],
    [{ url: 's3cret' }, /`url` to be like postgres:\/\//],
    [{ url: 'postgres://db/x', schema: 'A"; --' }, /`schema` to be lower-case letters/],
    [{ url: 'postgres://db/x', timeout: 0 }, /`timeout` to be a duration in whole ms from 1 to/],
    [{ url: 'postgres://db/x', ssl: 's3cret' as never }, /`ssl` to be true, false or TLS options/],
    [{ pool: {} as never }, /`pool` to be an object with the methods connect, on, off/],
  ]
  for (const [options, message] of cases) {
    const error = await failure(options)
    assert.ok(error instanceof OptionError)
    assert.match(error.message, message)
    assert.doesNotMatch(inspect(error), /s3cret/)
  }
})

test('postgres - an unusable database is reported in one line that names the fix', async () => {
  const { url, port } = engine as Engine
  await prepare()
  const as = (user: string, database = 'postgres') =>
    `postgres://${user}:s3cret@127.0.0.1:${port}/${database}`
  const closed = await freePort()
  await using other = await startHttpServer()
  const cases: [url: string, message: RegExp][] = [
    [`postgres://me:s3cret@127.0.0.1:${closed}/x`, /127\.0\.0\.1:\d+\/x: nothing listens there/],
    ['postgres://me:s3cret@nowhere.invalid/x', /nowhere\.invalid\/x: the host is unknown/],
    [`postgres://127.0.0.1:${other.port}/x`, /check that this is a PostgreSQL server/],
    [as('guarded'), /the password or the user name is wrong/],
    [as('guarded').replace(':s3cret', ''), /it asks for a password; add it to the URL/],
    [as('stranger'), /this user may not connect; check pg_hba\.conf/],
    [as('adoption', 'nowhere'), /there is no such database; create it with createdb/],
    [as('adoption', 'latin'), /has the encoding LATIN1; create one with: createdb -E UTF8/],
    [`${as('adoption')}?sslmode=verify-full`, /it does not support TLS; remove/],
    [`${as('adoption')}?options=-c%20statement_timeout%3Dx`, /invalid value for parameter "state/],
  ]
  for (const [url, message] of cases) {
    const error = await failure({ url, ...PATIENT })
    assert.equal(error.name, 'PostgresError', inspect(error))
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /\n/)
    assert.doesNotMatch(inspect(error), /s3cret/)
  }
  // Until the time is over, it may become the primary.
  const { message } = await failure({ url: as('reader'), timeout: 10_000 })
  assert.match(message, /it is read-only; use the address of the primary/)

  async function prepare(): Promise<void> {
    const storage = postgresStorage({ url, ...PATIENT })
    await storage.ready()
    await storage.close()
    await asAdmin(
      url,
      "CREATE ROLE guarded LOGIN PASSWORD 'other'",
      'CREATE ROLE stranger LOGIN',
      'CREATE ROLE reader LOGIN SUPERUSER',
      'ALTER ROLE reader SET default_transaction_read_only = on',
      "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0",
    )
    const file = join((engine as Engine).folder, 'data', 'pg_hba.conf')
    const rules = 'host all guarded all scram-sha-256\nhost all stranger all reject\n'
    writeFileSync(file, rules + readFileSync(file, 'utf8'))
    await asAdmin(url, 'SELECT pg_reload_conf()')
  }
})

anywhere('postgres - a server that accepts but never responds times out', async () => {
  const mute = createServer().listen(0, '127.0.0.1')
  await once(mute, 'listening')
  after(() => mute.close())
  const { port } = mute.address() as { port: number }
  const url = `postgres://me:s3cret@127.0.0.1:${port}/x`
  const { message } = await failure({ url, timeout: 200 })
  assert.match(message, /no answer in time; check the address/)
})

anywhere(
  'postgres - a last attempt that has no time left does not hide why those before it failed',
  async () => {
    const answers = [Promise.reject({ code: '25006' }), new Promise<never>(() => {})]
    const { query } = pool.createDatabase(
      poolOf(() => answers.shift() as Promise<never>),
      500,
    )
    await assert.rejects(query({ text: '' }, []), { code: '25006' })
  },
)

anywhere(
  'postgres - a call that was given up while it waited for a connection is never sent',
  async () => {
    const sent: string[] = []
    let released = 0
    const recovered = gate()
    const exhausted = poolOf(async ({ text }) => {
      sent.push(text)
      return { rows: [] }
    })
    const { query } = pool.createDatabase(
      {
        ...exhausted,
        async connect() {
          await recovered.passed
          return { ...(await exhausted.connect()), release: () => released++ }
        },
      },
      1,
    )
    const inserts = [1, 2, 3].map(() => query({ text: 'INSERT' }, []))
    for (const insert of await Promise.allSettled(inserts)) assert.equal(insert.status, 'rejected')
    recovered.open()
    while (released < inserts.length) await new Promise(setImmediate)
    assert.deepEqual(sent, [])
  },
)

anywhere(
  'postgres - a pool whose server or connections do not answer is reported in time',
  async () => {
    // As `pg`, it takes a time limit for each query.
    const mute = poolOf(({ query_timeout: limit }) =>
      limit ? Promise.reject(new Error('Query read timeout')) : new Promise(() => {}),
    )
    const exhausted = { ...mute, connect: () => new Promise<never>(() => {}) }
    for (const pool of [mute, exhausted]) {
      const { message } = await failure({ pool, timeout: 1 })
      assert.match(message, /^The database of `pool`: no answer in time; check the address/)
    }
  },
)

test('postgres - a read-only replica is refused, and an insert leaves no trace', async () => {
  const replica = await startPostgres()
  after(() => replica.stop())
  const storage = postgresStorage({ url: replica.url, timeout: 10_000 })
  after(storage.close)
  await storage.insert(REX)
  await storage.ping()
  await replica.signal('SIGKILL')
  const signal = join(replica.folder, 'data', 'standby.signal')
  writeFileSync(signal, '')
  await replica.restart()
  await assert.rejects(storage.ping(), { message: 'The database is read-only' })
  await assert.rejects(storage.insert(REX), { code: '25006' })
  assert.match(
    (await failure({ url: replica.url, timeout: 10_000 })).message,
    /it is read-only; use the address/,
  )
  assert.equal((await storage.find(1))?.name, 'Rex')
  assert.equal(await storage.find(2), undefined)
})

test('postgres - ping fails where an insert would: read-only by default, or without its standby', async () => {
  const server = await startPostgres()
  after(() => server.stop())
  const storage = postgresStorage({ url: server.url, timeout: 10_000 })
  after(storage.close)
  await storage.ping()
  const configure = (setting: string) =>
    asAdmin(server.url, `ALTER SYSTEM SET ${setting}`, 'SELECT pg_reload_conf()')
  // The server applies a changed file soon, not immediately.
  const until = async (expected: RegExp | undefined) => {
    for (;;) {
      const message = await storage.ping().then(
        () => undefined,
        (error: Error) => error.message,
      )
      if (expected ? expected.test(message ?? '') : message === undefined) return
    }
  }
  await configure('default_transaction_read_only = on')
  await until(/^The database is read-only$/)
  await asAdmin(
    server.url,
    'SET default_transaction_read_only = off',
    'ALTER SYSTEM RESET default_transaction_read_only',
    'SELECT pg_reload_conf()',
  )
  await until(undefined)
  await configure("synchronous_standby_names = 'nobody'")
  await until(/did not answer within|statement timeout/)
})

test('postgres - ping refuses a primary that another has replaced', async t => {
  let timeline = '00000002'
  const client = new pg.Client(engine?.url)
  await client.connect()
  t.after(() => client.end())
  const storage = postgresStorage({
    ...PATIENT,
    pool: poolOf(async query => {
      const answer = await client.query(query)
      // A migration has several statements, and no rows.
      return answer.rows?.[0]?.timeline ? { rows: [{ timeline }] } : answer
    }),
    schema: 'timelines',
  })
  await storage.ping()
  timeline = '0000000A'
  await storage.ping()
  timeline = '00000002'
  await assert.rejects(storage.ping(), {
    message: 'This is an old primary: it is on timeline 2, and the database was on 10 already',
  })
})

test('postgres - several first starts at once work, serializable by default or not', async () => {
  const url = await createDatabase(engine as Engine, 'serializable')
  await asAdmin(
    url,
    "ALTER DATABASE serializable SET default_transaction_isolation = 'serializable'",
  )
  const open = () => postgresStorage({ url, connections: 2, ...PATIENT })
  const storages = Array.from({ length: 6 }, open)
  const pets = await Promise.all(storages.map(storage => storage.insert(REX)))
  assert.deepEqual(pets.map(({ id }) => id).toSorted(), [1, 2, 3, 4, 5, 6])
  // In stricter isolation, creates of several processes fail in turn.
  await asAdmin(
    url,
    `CREATE FUNCTION is_weak() RETURNS bool LANGUAGE sql
      AS $$ SELECT current_setting('transaction_isolation') = 'read committed' $$`,
    'ALTER TABLE adoption_store.pets ADD CHECK (is_weak()) NOT VALID',
  )
  await storages[0]?.insert(REX)
  for (const storage of storages) await storage.close()
})

anywhere(
  'postgres - TLS requires a trusted certificate',
  {
    skip: skip || withoutOpenSsl,
  },
  async () => {
    const secure = await startSecurePostgres()
    after(() => secure.stop())
    const ca = readFileSync(secure.certificate, 'utf8')
    const { url } = secure
    assert.match(
      (await failure({ url, ssl: true })).message,
      /its certificate is not trusted; pass/,
    )
    for (const access of [
      { url, ssl: { ca } },
      { url: `${url}?sslmode=verify-full&sslrootcert=${secure.certificate}` },
    ]) {
      const storage = postgresStorage({ ...access, ...PATIENT })
      await storage.ready()
      const [row] = await asAdmin(
        secure.url,
        'SELECT count(*)::int AS count FROM pg_stat_ssl WHERE ssl',
      )
      assert.ok(row.count >= 1)
      await storage.close()
    }
  },
)

/** A pool of one connection. */
function poolOf(query: pool.PostgresClient['query']): pool.PostgresPool {
  const on = () => {}
  const client = { query, release() {}, on, off: on }
  return { connect: async () => client, on, off: on }
}

async function failure(options: PostgresOptions): Promise<Error> {
  try {
    await postgresStorage({ ...PATIENT, ...options }).ready()
  } catch (error) {
    return error as Error
  }
  throw new assert.AssertionError({ message: 'It opened' })
}

// biome-ignore lint/suspicious/noExplicitAny: the columns of a statement
async function asAdmin(url: string, ...statements: string[]): Promise<any[]> {
  const client = new pg.Client(url)
  await client.connect()
  let rows: unknown[] = []
  for (const statement of statements) rows = (await client.query(statement)).rows
  await client.end()
  return rows
}

test('postgres - a connection is replaced after its lifetime', async () => {
  const url = await createDatabase(engine as Engine, 'lifetime')
  const storage = postgresStorage({ url, connectionLifetime: 50, ...PATIENT })
  const own = `SELECT pid FROM pg_stat_activity
    WHERE application_name = 'animal-adoption-store' AND datname = 'lifetime'`
  const pids = new Set<number>()
  for (const limit = AbortSignal.timeout(60_000); pids.size < 3; limit.throwIfAborted()) {
    await storage.find(1)
    for (const { pid } of await asAdmin(url, own)) pids.add(pid)
  }
  await storage.close()
})
