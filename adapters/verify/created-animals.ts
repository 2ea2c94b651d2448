import { PAGE_SIZE } from '../../src/pets/specification.js'
import type { Reply } from './check-types.js'
import { isObject, jsonIn, listIn } from './read-reply.js'

/** The animals of a run, which reads may show late. */
export function createdAnimals(basePath: string) {
  const statuses = new Map<string, unknown>()

  return {
    note(reply: Reply): void {
      const pet = reply.method === 'POST' && reply.status === 201 ? jsonIn(reply) : undefined
      if (isObject(pet)) statuses.set(String(pet['id']), pet['status'])
    },
    /** Ids of animals that a read should show, but does not. */
    missingIn(reply: Reply): readonly string[] {
      const path = reply.target.slice(basePath.length)
      const [, id] = /^\/pets\/(\d+)$/.exec(path) ?? []
      if (id !== undefined) return reply.status === 404 && statuses.has(id) ? [id] : []
      const [page, only] = /^\/pets\?limit=100(?:&status=(\w+))?$/.exec(path) ?? []
      const listed = page === undefined ? undefined : listIn(reply)
      if (!listed || listed.length >= PAGE_SIZE.maximum) return []
      const shown = new Set(listed.map(pet => String(pet.id)))
      return [...statuses]
        .filter(([id, status]) => !shown.has(id) && (only ?? status) === status)
        .map(([id]) => id)
    },
    forget(ids: readonly string[]): void {
      for (const id of ids) statuses.delete(id)
    },
  }
}
