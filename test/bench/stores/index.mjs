import { result } from '../harness/children.mjs'

/** The stores that are compared, with the packages each is made of. */
export const STORES = {
  ours: [],
  memory: [],
  array: [],
  lowdb: ['lowdb'],
  'msw-data': ['@msw/data'],
  loki: ['lokijs'],
  nedb: ['@seald-io/nedb'],
  sqlite: ['better-sqlite3'],
}

/** All figures of one store at one size, in a process of its own; none after `seconds`. */
export async function measureStore(name, size, seconds) {
  const flags = ['--expose-gc', '--max-old-space-size=8192']
  return (await result([...flags, 'stores/measure.mjs', name, String(size)], seconds)) ?? {}
}
