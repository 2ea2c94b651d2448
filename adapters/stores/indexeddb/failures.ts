import { brand } from '../../../src/lib/brand.js'

/** A problem with a database of the browser, in one line that begins with its name. */
export class IndexedDbError extends Error {
  override readonly name = 'IndexedDbError'
  readonly database: string

  constructor(database: string, reason: string, options?: ErrorOptions) {
    super(`${database} ${reason}`, options)
    this.database = database
  }
}
brand({ IndexedDbError })

export function explain(error: unknown, database: string): unknown {
  if (!isFromBrowser(error)) return error
  const reason = REASONS[error.name] ?? `cannot be used: ${error.message || error.name}`
  return new IndexedDbError(database, reason, { cause: error })
}

export function isFromBrowser(error: unknown): error is Error {
  return error instanceof DOMException
}

const FOREIGN = 'is a database of another program; use another name, this one was left as it is'

const REASONS: Readonly<Record<string, string>> = {
  AbortError: 'was closed by the browser before the animal was stored; try again',
  InvalidStateError: 'was closed by the browser; try again',
  NotFoundError: FOREIGN,
  QuotaExceededError: "is full: the browser's quota is used up, or the disk is; free some space",
  SecurityError: 'is not allowed here; serve the page over http, and allow it to store data',
  VersionError: `has a newer version; reload the page. Otherwise it ${FOREIGN}`,
}
