/** A value or a promise of it: code that has its result need not wait for a microtask. */
export type Awaitable<T> = T | Promise<T>

/** Also true for thenables of the host, which `Promise.resolve` converts. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** Like `then`, but synchronous on a value. */
export function chain<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

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
