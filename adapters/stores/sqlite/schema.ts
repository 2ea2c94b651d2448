import type { Database, Row } from './driver.js'
import { SqliteError } from './failures.js'

/** "Pets" in ASCII, so that no other database is changed by mistake. */
const APPLICATION_ID = 0x50657473

const VERSION = 1

const TABLES = `CREATE TABLE pets (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER - 1}),
    -- A JSON string, as are all texts of users: a lone surrogate has no UTF-8.
    name TEXT NOT NULL,
    category_id INTEGER NOT NULL,
    -- IN would build a table of the three at each insert: a seventh of its time without the disk.
    status TEXT CHECK (status = 'available' OR status = 'pending' OR status = 'sold')
  ) STRICT;
  CREATE INDEX pets_available ON pets (id) WHERE status = 'available';
  CREATE INDEX pets_pending ON pets (id) WHERE status = 'pending';
  CREATE INDEX pets_sold ON pets (id) WHERE status = 'sold';
  -- The next id is the one after the last, and at least this one. An insert does not change the row,
  -- so it writes one page less than with AUTOINCREMENT. There is no row in a file that has only counts.
  CREATE TABLE pet_ids (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    next INTEGER NOT NULL CHECK (next BETWEEN 1 AND ${Number.MAX_SAFE_INTEGER}),
    -- How many ids below the next one have no animal.
    gaps INTEGER NOT NULL
  ) STRICT;
  -- For animals that somebody deletes by hand.
  CREATE TRIGGER pets_deleted AFTER DELETE ON pets BEGIN
    UPDATE pet_ids SET next = max(next, old.id + 1), gaps = gaps + 1;
  END;
  CREATE TABLE pet_keys (
    -- The order in which the keys were used.
    place INTEGER PRIMARY KEY,
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    expires_at REAL NOT NULL,
    pet_id INTEGER NOT NULL,
    UNIQUE (scope, key)
  ) STRICT;
  CREATE TABLE usage (
    partition TEXT PRIMARY KEY,
    last_seen INTEGER NOT NULL,
    minute_count INTEGER NOT NULL,
    rejections INTEGER NOT NULL,
    day_count INTEGER NOT NULL,
    banned_until INTEGER NOT NULL,
    ban_level INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};`

/** Creates missing tables. Refuses other databases, and without `create` an empty one, unchanged. */
export function prepareTables(
  database: Database,
  path: string,
  writing: (task: () => void) => void,
  create = true,
): void {
  // Before anything is written: switching to WAL changes the file.
  const isPrepared = hasTables(database, path)
  if (!isPrepared && !create) {
    throw new SqliteError(path, 'is an empty database; restore a backup, or name another file')
  }
  useWal(database, path)
  if (isPrepared) return
  writing(() => {
    // Another process may have been faster.
    if (!hasTables(database, path)) database.exec(TABLES)
  })
}

function useWal(database: Database, path: string): void {
  const { journal_mode: mode } = database.prepare('PRAGMA journal_mode = WAL').get() as Row
  if (mode === 'wal') return
  throw new SqliteError(
    path,
    'is on a file system without shared memory, such as a network share; use a local disk',
  )
}

function hasTables(database: Database, path: string): boolean {
  const { application, version, tables } = database
    .prepare(`SELECT application_id AS application, user_version AS version,
      (SELECT count(*) FROM sqlite_schema) AS tables
      FROM pragma_application_id, pragma_user_version`)
    .get() as Row
  if (application === 0 && version === 0 && tables === 0) return false
  if (application !== APPLICATION_ID) {
    throw new SqliteError(
      path,
      'is a database of another program; name another file, this one was left as it is',
    )
  }
  if (version <= VERSION) return true
  throw new SqliteError(
    path,
    `has version ${version}, and this package knows ${VERSION}; update animal-adoption-store`,
  )
}
