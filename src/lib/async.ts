/** A value or a promise of it. Code that has its result need not wait for a microtask. */
export type Awaitable<T> = T | Promise<T>

/** Also true for a host's own thenables, which `Promise.resolve` turns into promises. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** `then` that runs synchronously on a value. */
export function chain<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

/** `try` and `catch` around a call that may throw or reject. */
export function orElse<T, U>(
  call: () => Awaitable<T>,
  recover: (error: unknown) => Awaitable<U>,
): Awaitable<T | U> {
  try {
    const value = call()
    return isPromise(value) ? Promise.resolve(value).catch(recover) : value
  } catch (error) {
    return recover(error)
  }
}

/**
 * Loads a module on first use and keeps it. The parsers are most of the import time of this
 * package, and a process that only lists pets needs none of them.
 */
export function lazy<T>(load: () => Promise<T>): () => Awaitable<T> {
  let loaded: T | undefined
  return () => loaded ?? load().then(module => (loaded = module))
}
