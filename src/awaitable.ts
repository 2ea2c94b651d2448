/** A value, or a promise of it: what is there at once waits for nothing. */
export type Awaitable<T> = T | Promise<T>

/** Whether it is a promise, or anything else that `await` waits for. */
export function isPromise<T>(value: Awaitable<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** Goes on with a value as soon as it is there, and that may be now. */
export function chain<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isPromise(value) ? value.then(next) : next(value)
}

/** `try` and `catch` around a call that may fail now or later. */
export function attempt<T, U>(
  call: () => Awaitable<T>,
  recover: (error: unknown) => Awaitable<U>,
): Awaitable<T | U> {
  try {
    const value = call()
    // Resolved first, as what other people's code gives may have a `then` and no `catch`.
    return isPromise(value) ? Promise.resolve(value).catch(recover) : value
  } catch (error) {
    return recover(error)
  }
}
