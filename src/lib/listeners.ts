import { orElse } from './async.js'

/** The first failure of a listener or hook. */
export interface ListenerFailure {
  readonly error: unknown
  /** Of its event or option, such as `pet.created` or `onWait`. */
  readonly name: string
}

export type OnListenerError = (failure: ListenerFailure) => void

/** Calls listeners and hooks, without waiting. One that fails affects nobody; its first failure is reported. */
export function createNotifier(onListenerError: OnListenerError = () => {}) {
  const failed = new WeakSet<object>()
  return <Given extends readonly unknown[]>(
    name: string,
    listener: ((...given: Given) => unknown) | undefined,
    ...given: Given
  ): void => {
    const report = (error: unknown) => {
      if (!listener || failed.has(listener)) return
      failed.add(listener)
      orElse(
        () => onListenerError({ error, name }),
        () => {},
      )
    }
    orElse(() => listener?.(...given), report)
  }
}
