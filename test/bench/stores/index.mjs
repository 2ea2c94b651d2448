import { result } from '../harness/children.mjs'

/** The stores under test, with their packages. */
export const STORES = {
  ours: [],
  memory: [],
  array: [],
  lowdb: ['lowdb'],
}

/** All figures of one store at one size, from a fresh process; undefined after `seconds`. */
export async function measureStore(name, size, seconds) {
  const flags = ['--expose-gc', '--max-old-space-size=8192']
  return (await result([...flags, 'stores/measure.mjs', name, String(size)], seconds)) ?? {}
}
