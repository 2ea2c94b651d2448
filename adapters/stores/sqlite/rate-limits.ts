import type { Awaitable } from '../../../src/lib/async.js'
import {
  check,
  isText,
  type OptionsOf,
  settingsOf,
  withDefault,
} from '../../../src/lib/check-options.js'
import { isTimeout } from '../../../src/lib/time.js'
import { type Decision, decide, type Usage } from '../../../src/limits/windows-and-bans.js'
import type { RateLimitSnapshot, RateLimitStore } from '../../../src/ports.js'
import { openAtUse } from '../kit/open-at-use.js'
import { memoryRateLimitStore } from '../memory.js'
import { createChanges } from './batch-changes.js'
import { type Connection, connect } from './connection.js'
import { SqliteError } from './failures.js'
import { fromText, toText } from './rows.js'

export const RATE_LIMIT_OPTIONS = {
  /** Longest wait of a request for a lock, before this process counts by itself. @default '100ms' */
  timeout: withDefault(isTimeout, '100ms'),
}
/**
 * @example
 * import { sqliteRateLimitStore } from 'animal-adoption-store/sqlite'
 *
 * const rateLimitStore = sqliteRateLimitStore('limits.db', { timeout: '100ms' })
 * await rateLimitStore.close()
 */
export interface SqliteRateLimitStoreOptions extends OptionsOf<typeof RATE_LIMIT_OPTIONS> {}

export interface SqliteRateLimitStore extends RateLimitStore, AsyncDisposable {
  inspect(partition: string): Awaitable<Usage | undefined>
  reset(partition?: string): Promise<void>
  dump(): Promise<RateLimitSnapshot>
  restore(snapshot: RateLimitSnapshot): Promise<void>
  ready(): Promise<void>
  /** Resolves if the file can be read. @throws SqliteError */
  ping(): Promise<void>
  /** Finishes requests, except those that await a lock. May be called again. */
  close(): Promise<void>
}

/**
 * Counts usage in a SQLite file, for any number of processes on one machine. A power cut may lose
 * the last counts. While it cannot be used, a store counts by itself.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { memoryStorage } from 'animal-adoption-store/memory'
 * import { sqliteRateLimitStore } from 'animal-adoption-store/sqlite'
 *
 * const rateLimitStore = sqliteRateLimitStore('limits.db')
 * const store = createStore({ storage: memoryStorage(), rateLimitStore, apiKeys: {} })
 * await rateLimitStore.close()
 */
export function sqliteRateLimitStore(
  path: string,
  options?: SqliteRateLimitStoreOptions,
): SqliteRateLimitStore {
  const { timeout: timeoutMs } = settingsOf(RATE_LIMIT_OPTIONS, options)
  check('path', path, isText)
  const open = () =>
    connect(path, { timeoutMs, synced: false }, connection =>
      createRateLimits(connection, timeoutMs),
    )
  const { methods, ready, close } = openAtUse(open, () => new SqliteError(path, 'is closed'))
  return {
    ...methods('consume', 'inspect', 'reset', 'dump', 'restore', 'ping'),
    ready,
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Callers without a valid key are counted in this process, so strangers cannot fill the disk. */
const ADDRESS = 'addr:'

function createRateLimits(connection: Connection, timeoutMs: number) {
  const { run, writing, look, sync, prepare } = connection
  const animals = prepare('SELECT 1 FROM pet_ids')
  let isSynced = false
  const table = createTable(connection)
  const addresses = memoryRateLimitStore()
  const requests = createChanges(connection, { ...LIMITS, timeoutMs, apply: decideAll })

  return {
    consume(partition, limits, now) {
      if (!Number.isFinite(now)) throw new RangeError(`Expected the clock to be finite, got ${now}`)
      if (partition.startsWith(ADDRESS)) return addresses.consume(partition, limits, now)
      return requests.make([partition, limits, now])
    },
    inspect(partition) {
      if (partition.startsWith(ADDRESS)) return addresses.inspect(partition)
      return run(() => table.read(partition))
    },
    async reset(partition) {
      await addresses.reset(partition)
      await run(() => table.remove(partition))
    },
    async dump() {
      return [...(await addresses.dump()), ...(await run(table.readAll))]
    },
    async restore(snapshot) {
      const isAddress = ([partition]: RateLimitSnapshot[number]) => partition.startsWith(ADDRESS)
      await addresses.restore(snapshot.filter(isAddress))
      await run(() =>
        writing(() => {
          table.remove()
          for (const entry of snapshot) if (!isAddress(entry)) table.write(...entry)
        }),
      )
    },
    async ping() {
      look()
      await run(() => table.read(''))
    },
    close: requests.close,
  } satisfies Omit<SqliteRateLimitStore, 'ready' | typeof Symbol.asyncDispose>

  function decideAll(
    waiting: readonly Parameters<RateLimitStore['consume']>[],
  ): readonly Decision[] {
    // If its sync fails, an unsynced commit takes later animals in the same file with it.
    if (!isSynced && animals.get()) {
      sync()
      isSynced = true
    }
    return writing(() => {
      const usages = new Map<string, Usage | undefined>()
      const decisions = waiting.map(([partition, limits, now]) => {
        const known = usages.has(partition) ? usages.get(partition) : table.read(partition)
        const { decision, usage } = decide(known, limits, now)
        usages.set(partition, usage)
        return decision
      })
      for (const [partition, usage] of usages) if (usage) table.write(partition, usage)
      return decisions
    })
  }
}

function createTable({ prepare, prepareInsert }: Connection) {
  const columns = 'last_seen, minute_count, rejections, day_count, banned_until, ban_level'
  const fields = `last_seen AS lastSeenAt, minute_count AS minuteCount, rejections,
    day_count AS dayCount, banned_until AS bannedUntil, ban_level AS banLevel`
  const read = prepare(`SELECT ${fields} FROM usage WHERE partition = ?`)
  const readAll = prepare(`SELECT partition, ${fields} FROM usage ORDER BY partition`)
  const write = prepareInsert(
    `INSERT OR REPLACE INTO usage (partition, ${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const remove = prepare('DELETE FROM usage WHERE partition = ?')
  const removeAll = prepare('DELETE FROM usage')
  return {
    read(partition: string): Usage | undefined {
      const row = read.get(toText(partition))
      return row && ({ ...row } as Usage)
    },
    readAll: (): RateLimitSnapshot =>
      readAll.all().map(({ partition, ...row }) => [fromText(partition), row as Usage] as const),
    write(partition: string, usage: Usage): void {
      const { lastSeenAt, minuteCount, rejections, dayCount, bannedUntil, banLevel } = usage
      const counts = [lastSeenAt, minuteCount, rejections, dayCount, bannedUntil, banLevel]
      write(toText(partition), ...counts)
    },
    remove(partition?: string): void {
      if (partition === undefined) removeAll.run()
      else remove.run(toText(partition))
    },
  }
}

const LIMITS = { items: 1_000, size: 1_000, sizeOf: () => 1, name: 'sqlite.consume' }
