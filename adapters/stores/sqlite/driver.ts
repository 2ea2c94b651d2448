import { SqliteError } from './failures.js'

/** The subset of `node:sqlite` in use; Node 20 has no types. Every call blocks. */
export interface Database {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): unknown
}

export interface Statement {
  run(...values: readonly Value[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: readonly Value[]): Row | undefined
  all(...values: readonly Value[]): Row[]
}

export type Value = number | bigint | string | null
// biome-ignore lint/suspicious/noExplicitAny: each reader knows the columns of its statement.
export type Row = Record<string, any>

export function loadDriver(path: string): (path: string) => Database {
  const builtin: unknown = process.getBuiltinModule?.('node:sqlite')
  if (!builtin) throw new SqliteError(path, TOO_OLD)
  const { DatabaseSync } = builtin as { readonly DatabaseSync: new (path: string) => Database }
  return file => new DatabaseSync(file)
}

const TOO_OLD = `needs Node 22.13 or newer for node:sqlite, this is ${process.versions.node}; update Node, or use a JSON file`
