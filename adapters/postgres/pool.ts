import { setTimeout as pause } from 'node:timers/promises'
import { isRefused, isTimeout, noAnswer, PostgresError } from './failures.js'

/** A query as `pg` takes it. */
export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  /** Names a prepared statement. */
  readonly name?: string
  /** The time limit, in ms, after which `pg` drops the connection. */
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

/** A constant statement, with its name if it is prepared. */
export interface Statement {
  readonly text: string
  readonly name?: string
}

/** Values that are asked for when there is a connection; undefined if nothing is to be sent any more. */
export type LateValues = () => unknown[] | undefined

/** Runs a statement within a transaction. */
export type Run = (text: string, values?: unknown[]) => Promise<readonly Row[]>

/** A pool whose calls all end in bounded time. */
export interface Database {
  /**
   * Retries while the server is unavailable, so the statement must be idempotent, and late values must be
   * the same each time. No rows if nothing was sent.
   */
  query(statement: Statement, values: unknown[] | LateValues): Promise<readonly Row[]>
  /** A single attempt. */
  queryOnce(statement: Statement, values: unknown[]): Promise<readonly Row[]>
  /** Commits when the task resolves, rolls back when it rejects. */
  transaction<T>(task: (run: Run) => Promise<T>): Promise<T>
}

/** For dumps and restores of large tables. */
const LONGEST_TRANSACTION = 600_000
const FIRST_PAUSE = 20
const LONGEST_PAUSE = 320

export function createDatabase(pool: PostgresPool, timeoutMs: number): Database {
  return {
    queryOnce: (statement, values) => send(statement, values, limitOf(timeoutMs)),
    async query(statement, values) {
      const limit = limitOf(timeoutMs)
      let reason: unknown
      for (let wait = FIRST_PAUSE; ; wait = Math.min(2 * wait, LONGEST_PAUSE)) {
        try {
          return await send(statement, values, limit)
        } catch (error) {
          // What the server said before tells more than that the last attempt had too little time.
          if (reason === undefined || !(error instanceof PostgresError)) reason = error
          if (isRefused(error) || performance.now() + wait > limit.end) throw reason
          await pause(wait)
        }
      }
    },
    transaction: task =>
      withClient(pool, limitOf(timeoutMs), async client => {
        const run: Run = async (text, values = []) =>
          (await client.query({ text, values, query_timeout: LONGEST_TRANSACTION })).rows
        // Whatever the database has by default: several processes may migrate at a time.
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
    limit: Limit,
  ): Promise<readonly Row[]> {
    return withClient(pool, limit, async client => {
      const values = typeof given === 'function' ? given() : given
      if (!values) return []
      const query = { ...statement, values, query_timeout: timeoutMs }
      return (await before(limit, client.query(query))).rows
    })
  }
}

/** The time limit of an operation. */
export interface Limit {
  /** When it is over, in ms of `performance.now`. */
  readonly end: number
  /** How long it is, for messages. */
  readonly timeoutMs: number
}

/** The limit of an operation that begins now. */
export function limitOf(timeoutMs: number): Limit {
  return { end: performance.now() + timeoutMs, timeoutMs }
}

/**
 * Lends a connection. After a failure it is dropped, which rolls back even if it hangs.
 *
 * @param limit for the wait, which the pool of a host may not have
 */
export async function withClient<T>(
  pool: PostgresPool,
  limit: Limit,
  task: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const client = await lend(pool, limit)
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

/** Resolves in time or rejects: a connection that comes later goes back unused. */
async function lend(pool: PostgresPool, limit: Limit): Promise<PostgresClient> {
  const connecting = pool.connect()
  try {
    return await before(limit, connecting)
  } catch (error) {
    connecting.then(client => client.release(), ignore)
    throw error
  }
}

/** Rejects at the end at the latest. */
async function before<T>({ end, timeoutMs }: Limit, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(noAnswer(timeoutMs)), end - performance.now())
  })
  try {
    return await Promise.race([answer, late])
  } catch (error) {
    // `pg` has a timer for the same moment.
    throw isTimeout(error) ? noAnswer(timeoutMs) : error
  } finally {
    clearTimeout(timer)
  }
}

function ignore(): void {}
