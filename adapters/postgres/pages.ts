import type { Pet } from '../../src/pets/schema.js'
import type { PetStatus } from '../../src/pets/specification.js'
import type { PetFilter } from '../../src/ports.js'
import type { Database } from './pool.js'
import { fromRow } from './rows.js'
import type { Statements } from './statements.js'

/** Equal filters are one page, and pages of one status are one statement. */
type Pages = Map<string, Required<Pick<PetFilter, 'limit' | 'after'>>>

/**
 * Reads the pages of several lists together: a statement costs the server and this process more than
 * the rows of a page do.
 *
 * @returns the page of each filter, in order
 */
export async function readPages(
  database: Database,
  statements: Statements,
  filters: readonly PetFilter[],
): Promise<readonly (readonly Pet[])[]> {
  const byStatus = new Map<PetStatus | undefined, Pages>()
  for (const { status, limit, after = 0 } of filters) {
    const pages: Pages = byStatus.get(status) ?? new Map()
    byStatus.set(status, pages.set(nameOf({ limit, after }), { limit, after }))
  }
  const found = new Map<string, readonly Pet[]>()
  await Promise.all(
    [...byStatus].map(async ([status, pages]) => {
      const read = await readStatus(database, statements, status, [...pages.values()])
      for (const [at, name] of [...pages.keys()].entries()) {
        found.set(`${status} ${name}`, Object.freeze(read[at] ?? []))
      }
    }),
  )
  return filters.map(filter => found.get(`${filter.status} ${nameOf(filter)}`) ?? [])
}

function nameOf({ limit, after = 0 }: PetFilter): string {
  return `${limit} ${after}`
}

async function readStatus(
  database: Database,
  statements: Statements,
  status: PetStatus | undefined,
  pages: readonly Required<Pick<PetFilter, 'limit' | 'after'>>[],
): Promise<readonly (readonly Pet[])[]> {
  const [first, ...others] = pages
  if (first && others.length === 0) {
    const one = status === undefined ? statements.list : statements.listByStatus[status]
    return [(await database.query(one, [first.after, first.limit])).map(fromRow)]
  }
  const many = status === undefined ? statements.lists : statements.listsByStatus[status]
  const columns = [pages.map(({ after }) => after), pages.map(({ limit }) => limit)]
  const read: Pet[][] = pages.map(() => [])
  for (const row of await database.query(many, columns)) read[row.page - 1]?.push(fromRow(row))
  // The rows of a page come from an index, in order; SQL does not promise it.
  for (const page of read) page.sort((one, other) => one.id - other.id)
  return read
}
