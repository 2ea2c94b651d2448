/** A problem with a database file, in one line that begins with its path. */
export class SqliteError extends Error {
  override readonly name = 'SqliteError'
  readonly path: string

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`${path} ${reason}`, options)
    this.path = path
  }
}

/** Turns what a driver throws into one line with the fix. */
export function explain(error: unknown, path: string): unknown {
  const code = resultCode(error)
  if (code === undefined) return error
  const reason = REASONS[code] ?? `cannot be used: ${(error as Error).message}; ${UNDO}`
  return new SqliteError(path, reason, { cause: error })
}

/** Another process held the lock for too long. */
export function lockedFor(path: string): SqliteError {
  return new SqliteError(path, LOCKED)
}

/** Another process holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === 'BUSY' || code === 'LOCKED' || code === 'PROTOCOL'
}

/** The primary result code (sqlite.org/rescode.html); undefined for an error of another kind. */
function resultCode(error: unknown): string | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  // node:sqlite has the extended number, better-sqlite3 the extended name.
  if (typeof errcode === 'number') return NAMES[errcode & 0xff] ?? 'ERROR'
  const [, name] = /^SQLITE_([A-Z]+)/.exec(typeof code === 'string' ? code : '') ?? []
  return name
}

const NAMES: Readonly<Record<number, string>> = {
  5: 'BUSY',
  6: 'LOCKED',
  7: 'NOMEM',
  8: 'READONLY',
  10: 'IOERR',
  11: 'CORRUPT',
  13: 'FULL',
  14: 'CANTOPEN',
  15: 'PROTOCOL',
  18: 'TOOBIG',
  19: 'CONSTRAINT',
  26: 'NOTADB',
}

/** For what else can fail, above all statements about tables that are not there. */
const UNDO = 'if somebody has changed its tables, undo that or restore a backup'
export const NOT_A_DATABASE =
  'is not a SQLite database; name another file, this one was left as it is'
/** What `check` leaves out. */
export const RUN_CHECK = 'run animal-adoption-store check, and '
const LOCKED = 'is locked by another process, which did not finish in time; try again later'

const REASONS: Readonly<Record<string, string>> = {
  BUSY: LOCKED,
  LOCKED,
  PROTOCOL: LOCKED,
  NOMEM: 'needs more memory than this process can get',
  READONLY: 'is read-only; make the file and its folder writable',
  IOERR: 'cannot be read or written: the disk failed; check the disk and the free space',
  CORRUPT: `is damaged; ${RUN_CHECK}restore a backup`,
  FULL: 'cannot grow, because the disk is full; free some space',
  CANTOPEN: 'cannot be opened; make the file and its folder readable and writable',
  TOOBIG: 'cannot hold a value of this length',
  CONSTRAINT: 'has assigned its last id; no more animals fit',
  NOTADB: NOT_A_DATABASE,
}
