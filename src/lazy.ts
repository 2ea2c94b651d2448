import type { Awaitable } from './awaitable.js'

/**
 * Loads a module on first use and keeps it. The parsers are most of the import time of this
 * package, and a process that only lists pets needs none of them.
 */
export function lazy<T>(load: () => Promise<T>): () => Awaitable<T> {
  let loaded: T | undefined
  return () => loaded ?? load().then(module => (loaded = module))
}
