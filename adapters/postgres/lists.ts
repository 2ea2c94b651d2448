import type { Pet } from '../../src/pets/schema.js'
import type { PetStatus } from '../../src/pets/specification.js'
import type { PetFilter } from '../../src/ports.js'
import type { Database } from './pool.js'
import { fromRow } from './rows.js'
import type { Statements } from './statements.js'

/** Lists that wait together, of one status and with one `after`: the longest contains the others. */
interface Group {
  readonly status: PetStatus | undefined
  readonly after: number
  /** Of the longest. */
  limit: number
  /** By limit. Equal lists are the same array. */
  readonly pages: Map<number, readonly Pet[]>
}

/**
 * Reads the pages of several lists together: a statement costs the server and this process more than
 * the rows of a page do.
 *
 * @returns the page of each filter, in order
 */
export async function readLists(
  database: Database,
  statements: Statements,
  filters: readonly PetFilter[],
): Promise<readonly (readonly Pet[])[]> {
  const groups = new Map<string, Group>()
  const groupOf = filters.map(({ status, limit, after = 0 }) => {
    const name = `${status} ${after}`
    const group: Group = groups.get(name) ?? { status, after, limit, pages: new Map() }
    group.limit = Math.max(group.limit, limit)
    groups.set(name, group)
    return group
  })
  const statuses = new Set(filters.map(({ status }) => status))
  const readAll = async (status: PetStatus | undefined) => {
    const some = [...groups.values()].filter(group => group.status === status)
    const columns = [some.map(({ after }) => after), some.map(({ limit }) => limit)]
    const found: Pet[][] = some.map(() => [])
    for (const row of await database.query(statements.lists[status ?? 'all'], columns)) {
      found[row.page - 1]?.push(fromRow(row))
    }
    for (const [at, { limit, pages }] of some.entries()) {
      // The rows of a page come from an index, in order; SQL does not promise it.
      const page = (found[at] as Pet[]).sort((one, other) => one.id - other.id)
      pages.set(limit, Object.freeze(page))
    }
  }
  await Promise.all([...statuses].map(readAll))
  return filters.map(({ limit }, at) => pageOf(groupOf[at] as Group, limit))
}

function pageOf({ limit: longest, pages }: Group, limit: number): readonly Pet[] {
  const known = pages.get(limit)
  if (known) return known
  const page = Object.freeze(pages.get(longest)?.slice(0, limit) ?? [])
  pages.set(limit, page)
  return page
}
