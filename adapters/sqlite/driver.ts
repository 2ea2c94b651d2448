import { SqliteError } from './failures.js'

/** What `node:sqlite` and better-sqlite3 have in common. Every call blocks until it is done. */
export interface Database {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): unknown
}

export interface Statement {
  run(...values: readonly Value[]): { readonly lastInsertRowid: number | bigint }
  get(...values: readonly Value[]): Row | undefined
  all(...values: readonly Value[]): Row[]
}

export type Value = number | bigint | string | null
// biome-ignore lint/suspicious/noExplicitAny: each reader knows the columns of its statement.
export type Row = Record<string, any>

export const DRIVERS = ['node:sqlite', 'better-sqlite3'] as const
export type DriverName = (typeof DRIVERS)[number]

type Open = (path: string) => Database

/** @throws SqliteError when the driver is missing, and says how to get it */
export async function loadDriver(path: string, name?: DriverName): Promise<Open> {
  const open =
    name === 'better-sqlite3' ? undefined : openByNode(process.getBuiltinModule?.('node:sqlite'))
  if (open) return open
  if (name === 'node:sqlite') {
    throw new SqliteError(
      path,
      `needs Node 22.13 or newer for node:sqlite, this is ${process.versions.node}`,
    )
  }
  return loadBetterSqlite3(path)
}

/** Node 20 has no types of it. */
interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => Database
}

function openByNode(builtin: unknown): Open | undefined {
  if (!builtin) return undefined
  const { DatabaseSync } = builtin as NodeSqlite
  return path => new DatabaseSync(path)
}

async function loadBetterSqlite3(path: string): Promise<Open> {
  try {
    // @ts-expect-error: it comes without types.
    const { default: Constructor } = await import('better-sqlite3')
    return file => {
      try {
        return new Constructor(file, { timeout: 0 })
      } catch (cause) {
        // The first database loads its binary.
        throw String((cause as { code?: unknown }).code).startsWith('SQLITE_')
          ? cause
          : new SqliteError(path, `cannot load better-sqlite3: ${shorten(cause)}`, { cause })
      }
    }
  } catch (cause) {
    const get = 'needs Node 22.13 or newer, or better-sqlite3; run: npm install better-sqlite3'
    throw new SqliteError(path, get, { cause })
  }
}

function shorten(error: unknown): string {
  const line = (error as Error).message.replaceAll('\n', ' ').slice(0, 120)
  return `${line}…; run: npm rebuild better-sqlite3`
}
