import type { Pet } from '../../../src/pets/schema.js'
import type { PetFilter } from '../../../src/ports.js'
import type { Database } from './pool.js'
import { fromRow } from './rows.js'
import type { Statements } from './statements.js'

/**
 * Reads several lists. Lists with one status and one `after` share a statement, as the longest
 * contains the others: a statement costs the server and this process more than the rows of a page
 * do.
 * @returns the page of each filter, in order; equal lists are the same array
 */
export async function readLists(
  database: Database,
  { list }: Statements,
  filters: readonly PetFilter[],
): Promise<readonly (readonly Pet[])[]> {
  const longest = new Map<string, PetFilter>()
  for (const filter of filters) {
    const other = longest.get(nameOf(filter))
    if (!other || other.limit < filter.limit) longest.set(nameOf(filter), filter)
  }
  const read = async ({ status, after = 0, limit }: PetFilter) =>
    (await database.query(list[status ?? 'all'], [after, limit])).map(fromRow)
  const found = await Promise.all([...longest.values()].map(read))
  const names = [...longest.keys()]
  const pages = new Map<string, readonly Pet[]>()
  return filters.map(filter => {
    const key = `${nameOf(filter)} ${filter.limit}`
    const rows = found[names.indexOf(nameOf(filter))] as Pet[]
    const page = pages.get(key) ?? Object.freeze(rows.slice(0, filter.limit))
    pages.set(key, page)
    return page
  })
}

function nameOf({ status, after = 0 }: PetFilter): string {
  return `${status} ${after}`
}
