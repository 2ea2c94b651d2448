import { storageOverloaded } from '../../../src/api-error.js'
import type { Pet } from '../../../src/pets/schema.js'
import type { PetFilter } from '../../../src/ports.js'
import { answerAll, createBatches } from '../kit/batches.js'
import type { DurableStorage, OpenedStorage } from '../kit/durable-storage.js'
import { type Streamable, snapshotOf } from '../kit/pet-stream.js'
import { createContent } from './content.js'
import { isReadOnly, noAnswer, PostgresError } from './failures.js'
import { createInserts } from './insert-batches.js'
import { readLists } from './lists.js'
import type { Database } from './pool.js'
import { readPets } from './rows.js'
import { LONGEST_LIST, type Statements } from './statements.js'

/**
 * `ping` resolves if a write commits: not on a read-only server, while a synchronous standby is away,
 * or on a primary that another has replaced. `close` leaves a pool of the host open.
 */
export interface PostgresStorage extends DurableStorage, Streamable {
  count(): Promise<number>
  /** What makes creates or lists fail, one line each, with the statement that repairs it. */
  check(): Promise<readonly string[]>
  connections(): Connections
  /** After the opening, lists what weakens a guarantee, one line each. */
  warnings(): readonly string[]
}

export interface Connections {
  readonly open: number
  readonly idle: number
  readonly waiting: number
}

export interface StorageParts {
  readonly database: Database
  readonly timeoutMs: number
  /** Quoted. */
  readonly schema: string
  readonly statements: Statements
  readonly writer: string
  readonly closePool: () => Promise<void>
}

export function createStorage(
  parts: StorageParts,
): OpenedStorage & Pick<PostgresStorage, 'stream' | 'count' | 'check'> {
  const { database, timeoutMs, schema, statements, writer, closePool } = parts
  const late = () => noAnswer(timeoutMs)
  const queue = { timeoutMs, items: QUEUE, late, full: storageOverloaded }
  const inserts = createInserts(database, statements, writer, queue)
  const lists = createBatches(
    answerAll((filters: readonly PetFilter[]) => readLists(database, statements, filters)),
    { ...LISTS, queue },
  )
  const finds = createBatches(answerAll(findAll), {
    name: 'postgres.find',
    items: 500,
    size: 500,
    sizeOf: () => 1,
    queue,
  })
  const content = createContent(database, schema, timeoutMs)

  return {
    insert: inserts.insert,
    insertOnce: inserts.insertOnce,
    find: id => (Number.isSafeInteger(id) ? finds.add(id) : undefined),
    list(filter) {
      if (filter.limit <= LONGEST_LIST) return lists.add(filter)
      throw new RangeError(
        `Expected a limit of at most ${LONGEST_LIST}, got ${filter.limit}; read more with stream`,
      )
    },
    dump: () => content.read(snapshotOf),
    stream: content.read,
    replace: (given, options = {}, wanted) => content.replace(given, options, wanted),
    count: content.count,
    check: content.check,
    ping: createPing(database, statements, writer),
    async close() {
      await Promise.all([inserts, finds, lists].map(({ idle }) => idle()))
      await closePool()
    },
  }

  async function findAll(ids: readonly number[]): Promise<readonly (Pet | undefined)[]> {
    const [row] = await database.query(statements.find, [ids])
    const found = new Map(readPets(row.pets).map(pet => [pet.id, pet]))
    return ids.map(id => found.get(id))
  }
}

/** Commits a small write, and refuses the timeline of a primary that another has replaced. */
function createPing(database: Database, { ping }: Statements, writer: string) {
  let latest = 0
  return async (): Promise<void> => {
    const [row] = await database.queryOnce(ping, [writer]).catch(error => {
      throw isReadOnly(error) ? new PostgresError('The database is read-only') : error
    })
    // NaN, which is less than none, if it is unknown.
    const timeline = Number.parseInt(row.timeline, 16)
    if (timeline < latest) {
      throw new PostgresError(
        `This is an old primary: it is on timeline ${timeline}, and the database was on ${latest} already`,
      )
    }
    latest = timeline
  }
}

/** Calls that may wait for each kind of statement: about a second of work. */
const QUEUE = 10_000

/** No list waits long for those before it. */
const LISTS = {
  name: 'postgres.list',
  items: 64,
  size: 5_000,
  sizeOf: ({ limit }: PetFilter) => limit,
}
