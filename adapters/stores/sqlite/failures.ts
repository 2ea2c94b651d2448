import { brand } from '../../../src/lib/brand.js'

/** A problem with a database file, in one line that begins with its path. */
export class SqliteError extends Error {
  override readonly name = 'SqliteError'
  readonly path: string

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`${path} ${reason}`, options)
    this.path = path
  }
}
brand({ SqliteError })

export function explain(error: unknown, path: string): unknown {
  const code = resultCode(error)
  if (code === undefined) return error
  const reason = REASONS[code] ?? `cannot be used: ${(error as Error).message}; ${UNDO}`
  return new SqliteError(path, reason, { cause: error })
}

export function isBusy(error: unknown): boolean {
  return REASONS[resultCode(error) ?? 0] === LOCKED
}

/** The primary result code (sqlite.org/rescode.html). */
function resultCode(error: unknown): number | undefined {
  const { errcode } = (error ?? {}) as { errcode?: unknown }
  return typeof errcode === 'number' ? errcode & 0xff : undefined
}

/** For all other failures, such as missing tables. */
const UNDO = 'if somebody has changed its tables, undo that or restore a backup'
export const IGNORED = 'did not store a row: a trigger of its tables ignores inserts; remove it'
export const LOCKED = 'is locked by another process, which did not finish in time; try again later'

const REASONS: Readonly<Record<number, string>> = {
  /* BUSY */ 5: LOCKED,
  /* LOCKED */ 6: LOCKED,
  /* NOMEM */ 7: 'needs more memory than this process can get',
  /* READONLY */ 8: 'is read-only; make the file and its folder writable',
  /* IOERR */ 10: 'cannot be read or written: the disk failed; check the disk and the free space',
  /* CORRUPT */ 11: 'is damaged; run animal-adoption-store check, and restore a backup',
  /* FULL */ 13: 'cannot grow, because the disk is full; free some space',
  /* CANTOPEN */ 14: 'cannot be opened; make the file and its folder readable and writable',
  /* PROTOCOL */ 15: LOCKED,
  /* TOOBIG */ 18: 'cannot hold a value of this length',
  /* CONSTRAINT */ 19: 'has assigned its last id; no more animals fit',
  /* NOTADB */ 26: 'is not a SQLite database; name another file, this one was left as it is',
}
