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
  const words = ['--max-old-space-size=8192', 'stores/measure.mjs', name, String(size)]
  return (await result(words, seconds)) ?? {}
}
