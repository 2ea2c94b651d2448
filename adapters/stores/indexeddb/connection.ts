import { inTime } from '../kit/time-limit.js'
import { explain, IndexedDbError, isFromBrowser } from './failures.js'
import { type Database, factory, type Mode, type ObjectStore, resultOf } from './platform.js'

export type Connection = ReturnType<typeof connect>

export type Stores = Readonly<Record<StoreName, ObjectStore>>
type StoreName = keyof typeof STORES

const VERSION = 1

const STORES = {
  /** The next id, and a random identity of the database. */
  ids: { indexes: {} },
  keys: {
    keyPath: ['scope', 'idempotencyKey'],
    indexes: { petId: 'petId', expiresAt: 'expiresAt' },
  },
  pets: { keyPath: 'id', indexes: { status: ['status', 'id'] } },
  usage: { indexes: {} },
} as const

const DURABLE = { durability: 'strict' } as const
const BLOCKED =
  'cannot be opened: another page or worker holds it while it is to be deleted or upgraded; close that one'
const DELETED = 'was deleted while it was open; reload the page'
const LOCKED =
  'is locked by another page or worker, which did not finish in time; close that one, or try again'

/**
 * Opens a database at the first call, and again once the browser has closed it, unless it was deleted.
 * @param timeoutMs limits the wait for opening, and then for the transaction
 */
export function connect(name: string, timeoutMs: number) {
  const calls = new Set<Promise<unknown>>()
  let opening: Promise<Database> | undefined
  let known: string | undefined
  let isClosed = false

  return {
    async run<T>(...given: Parameters<typeof attempt<T>>): Promise<T> {
      if (isClosed) throw new IndexedDbError(name, 'is closed')
      const call = attempt(...given)
      calls.add(call)
      try {
        return await call
      } catch (error) {
        // Not every browser says that a connection is lost.
        if (isFromBrowser(error)) disconnect()
        throw explain(error, name)
      } finally {
        calls.delete(call)
      }
    },
    async close(): Promise<void> {
      isClosed = true
      await Promise.allSettled(calls)
      disconnect()
    },
  }

  /** Runs a task in a transaction. The task may wait only for its own requests. */
  async function attempt<T>(
    mode: Mode,
    names: readonly StoreName[],
    task: (stores: Stores) => Promise<T>,
    ms = timeoutMs,
  ): Promise<T> {
    const database = await opened()
    const transaction = database.transaction(names, mode, DURABLE)
    const stored = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve()
      transaction.onabort = () => reject(transaction.error)
    })
    const stores = Object.fromEntries(names.map(store => [store, transaction.objectStore(store)]))
    const done = task(stores as Stores).then(result => {
      transaction.commit()
      return result
    })
    const late = () => new IndexedDbError(name, LOCKED)
    try {
      return (await inTime(ms, Promise.all([done, stored]), late))[0]
    } catch (error) {
      try {
        transaction.abort()
      } catch {
        // The transaction has ended already.
      }
      throw transaction.error ?? error
    }
  }

  function opened(): Promise<Database> {
    if (!opening) {
      opening = open(name, known, disconnect).then(([database, identity]) => {
        known = identity
        return database
      })
      opening.catch(disconnect)
    }
    return inTime(timeoutMs, opening, () => new IndexedDbError(name, BLOCKED))
  }

  function disconnect(): void {
    opening?.then(
      database => database.close(),
      () => {},
    )
    opening = undefined
  }
}

/** @param known identity of the expected database; undefined accepts any */
async function open(
  name: string,
  known: string | undefined,
  onEnd: () => void,
): Promise<[database: Database, identity: string]> {
  if (!factory) throw new IndexedDbError(name, 'cannot be opened: this runtime has no IndexedDB')
  const request = factory.open(name, VERSION)
  const deleted = new IndexedDbError(name, DELETED)
  let wasDeleted = false
  request.onupgradeneeded = () => {
    wasDeleted = known !== undefined
    if (wasDeleted) request.transaction?.abort()
    else createStores(request.result)
  }
  const database = await resultOf(request).catch(error => {
    throw wasDeleted ? deleted : error
  })
  database.onversionchange = onEnd
  database.onclose = onEnd
  try {
    const ids = database.transaction(['ids'], 'readonly', DURABLE).objectStore('ids')
    const identity = await resultOf(ids.get('identity'))
    if (known !== undefined && identity !== known) throw deleted
    return [database, identity]
  } catch (error) {
    database.close()
    throw error
  }
}

function createStores(database: Database): void {
  for (const [name, { indexes, ...options }] of Object.entries(STORES)) {
    const store = database.createObjectStore(name, options)
    for (const [index, keyPath] of Object.entries<string | readonly string[]>(indexes)) {
      store.createIndex(index, keyPath)
    }
    if (name === 'ids') store.put(crypto.getRandomValues(new Uint32Array(2)).join(), 'identity')
  }
}
