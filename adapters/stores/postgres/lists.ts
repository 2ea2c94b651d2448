import type { Pet } from '../../../src/pets/schema.js'
import type { PetStatus } from '../../../src/pets/specification.js'
import type { PetFilter } from '../../../src/ports.js'
import type { Database } from './pool.js'
import { readPets } from './rows.js'
import type { Statements } from './statements.js'

/** Lists with one status and one `after`: the longest contains the others. */
interface Group {
  readonly status: PetStatus | undefined
  readonly after: number
  limit: number
  pets: readonly Pet[]
  /** By limit. */
  readonly pages: Map<number, readonly Pet[]>
}

/**
 * A statement per status, as it costs more than the rows of a page. Equal lists are one array, frozen,
 * so that its text is kept; of a page for one caller, that costs more than it saves.
 */
export async function readLists(
  database: Database,
  { list }: Statements,
  filters: readonly PetFilter[],
): Promise<readonly (readonly Pet[])[]> {
  const groups = new Map<string, Group>()
  const grouped = filters.map(({ status, after = 0, limit }) => {
    const name = `${status} ${after}`
    const group: Group = groups.get(name) ?? { status, after, limit, pets: [], pages: new Map() }
    group.limit = Math.max(group.limit, limit)
    groups.set(name, group)
    return group
  })
  const read = async (status: PetStatus | undefined) => {
    const some = [...groups.values()].filter(group => group.status === status)
    const columns = [some.map(({ after }) => after), some.map(({ limit }) => limit)]
    const rows = await database.query(list[status ?? 'all'], columns)
    for (const { n, pets } of rows) (some[n - 1] as Group).pets = readPets(pets)
  }
  await Promise.all([...new Set(filters.map(({ status }) => status))].map(read))
  return filters.map(({ limit }, at) => {
    const { pets, pages } = grouped[at] as Group
    const page = pages.get(limit) ?? pets.slice(0, limit)
    if (pages.has(limit)) Object.freeze(page)
    pages.set(limit, page)
    return page
  })
}
