import { setTimeout as pause } from 'node:timers/promises'
import { inTime } from '../kit/time-limit.js'
import { isRefused, noAnswer, PostgresError } from './failures.js'

export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  /** In ms, after which `pg` drops the connection. */
  readonly query_timeout?: number
}

/** The subset of a `pg` client in use. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<{ readonly rows: readonly Row[] }>
  release(error?: Error | boolean): void
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
}

/** The subset of `pg.Pool` in use. */
export interface PostgresPool {
  readonly totalCount?: number
  readonly idleCount?: number
  readonly waitingCount?: number
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
}

// biome-ignore lint/suspicious/noExplicitAny: its columns depend on the statement
export type Row = any

export type Statement = Pick<PostgresQuery, 'text' | 'name'>

/** Returns the values once there is a connection; undefined sends nothing. */
export type LateValues = () => unknown[] | undefined

export type Run = (text: string, values?: unknown[]) => Promise<readonly Row[]>

export type Database = ReturnType<typeof createDatabase>

/** In ms, for dumps and restores of large tables. */
const LONGEST_TRANSACTION = 600_000
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 320

/** A pool whose calls all end in bounded time. */
export function createDatabase(pool: PostgresPool, timeoutMs: number) {
  return {
    queryOnce: (statement: Statement, values: unknown[]) =>
      send(statement, values, performance.now() + timeoutMs),
    /** Retries, so the statement must be idempotent, and late values must stay the same. */
    async query(statement: Statement, values: unknown[] | LateValues): Promise<readonly Row[]> {
      const end = performance.now() + timeoutMs
      let reason: unknown
      for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
        try {
          return await send(statement, values, end)
        } catch (error) {
          // The earlier error of the server says more than the timeout of the last attempt.
          if (reason === undefined || !(error instanceof PostgresError)) reason = error
          if (isRefused(error) || performance.now() + wait > end) throw reason
          await pause(wait)
        }
      }
    },
    transaction: <T>(task: (run: Run) => Promise<T>): Promise<T> =>
      withClient(pool, timeoutMs, async client => {
        const run: Run = async (text, values = []) =>
          (await client.query({ text, values, query_timeout: LONGEST_TRANSACTION })).rows
        // Independent of the database's default: several processes may migrate at a time.
        await run('BEGIN ISOLATION LEVEL READ COMMITTED')
        await run(`SET LOCAL statement_timeout = ${LONGEST_TRANSACTION}`)
        const result = await task(run)
        await run('COMMIT')
        return result
      }),
  }

  function send(
    statement: Statement,
    given: unknown[] | LateValues,
    end: number,
  ): Promise<readonly Row[]> {
    const before = <T>(answer: Promise<T>) =>
      inTime(end - performance.now(), answer, () => noAnswer(timeoutMs))
    return withClient(
      pool,
      timeoutMs,
      async client => {
        const values = typeof given === 'function' ? given() : given
        if (!values) return []
        return (await before(client.query({ ...statement, values }))).rows
      },
      before,
    )
  }
}

/**
 * Lends a connection; after a failure, drops it, which rolls back even if it hangs.
 * @param before limits the wait, which the pool of a host may not do
 */
export async function withClient<T>(
  pool: PostgresPool,
  timeoutMs: number,
  task: (client: PostgresClient) => Promise<T>,
  before = <C>(answer: Promise<C>) => inTime(timeoutMs, answer, () => noAnswer(timeoutMs)),
): Promise<T> {
  const connecting = pool.connect()
  const client = await before(connecting).catch(error => {
    // A connection that comes later goes back unused.
    connecting.then(late => late.release(), ignore)
    throw error
  })
  // A broken connection emits `error` in addition to rejecting its statement.
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

function ignore(): void {}
