import { setTimeout as pause } from 'node:timers/promises'
import { isRefused, PostgresError } from './failures.js'

/** What `pg` is asked: the text of a statement and its parameters. */
export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Makes it a prepared statement of its connection. */
  readonly name?: string
  /** Milliseconds after which `pg` gives up and drops the connection. */
  readonly query_timeout?: number
}

/** The part of a `pg` client that is used. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly Row[] }>
  release(error?: Error | boolean): void
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
}

/** The part of a `pg.Pool` that is used. */
export interface PostgresPool {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly Row[] }>
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
}

// biome-ignore lint/suspicious/noExplicitAny: a row has the columns that its statement names
export type Row = any

/** A statement of a fixed text, with the name it is prepared under. */
export interface Statement {
  readonly text: string
  readonly name?: string
}

/** Runs a statement within a transaction. */
export type Run = (text: string, values?: unknown[]) => Promise<readonly Row[]>

/** A pool whose every call ends in bounded time. */
export interface Database {
  /** Sends a statement again while the server cannot be reached, so it must be repeatable. */
  query(statement: Statement, values: unknown[]): Promise<readonly Row[]>
  /** Commits what the task did, or nothing of it when it rejects. */
  transaction<T>(task: (run: Run) => Promise<T>): Promise<T>
}

/** A dump or a restore of a large table takes its time, but not forever. */
const LONGEST_TRANSACTION = 600_000
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 320

export function createDatabase(pool: PostgresPool, timeoutMs: number): Database {
  return {
    async query(statement, values) {
      const query = { ...statement, values, query_timeout: timeoutMs }
      const end = performance.now() + timeoutMs
      for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
        try {
          return await before(end, timeoutMs, async () => (await pool.query(query)).rows)
        } catch (error) {
          if (isRefused(error) || performance.now() + wait > end) throw error
          await pause(wait)
        }
      }
    },
    transaction: task =>
      withClient(pool, async client => {
        const run: Run = async (text, values = []) =>
          (await client.query({ text, values, query_timeout: LONGEST_TRANSACTION })).rows
        await run('BEGIN')
        await run(`SET LOCAL statement_timeout = ${LONGEST_TRANSACTION}`)
        const result = await task(run)
        await run('COMMIT')
        return result
      }),
  }
}

/** Lends a connection. A failure drops it, which also rolls back where ROLLBACK would not arrive. */
export async function withClient<T>(
  pool: PostgresPool,
  task: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  // A connection that breaks emits an error besides rejecting the statement in progress.
  client.on('error', ignore)
  try {
    const result = await task(client)
    client.off('error', ignore)
    client.release()
    return result
  } catch (error) {
    client.release(true)
    throw error
  }
}

/** Rejects at that time at the latest; the pool ends an abandoned call by its own timeouts. */
async function before<T>(end: number, timeoutMs: number, call: () => Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new PostgresError(`PostgreSQL did not answer within ${timeoutMs} ms`))
    timer = setTimeout(fail, end - performance.now())
  })
  try {
    return await Promise.race([call(), late])
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {}
