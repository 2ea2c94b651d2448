const listeners = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back when the signal aborts, until the returned function is called. A signal gets one
 * listener for any number of callbacks: an EventTarget warns of a leak at the eleventh, and
 * searches all of them to remove one.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = listeners.get(signal) ?? listen(signal)
  callbacks.add(callback)
  return () => {
    callbacks.delete(callback)
  }
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>()
  listeners.set(signal, callbacks)
  signal.addEventListener(
    'abort',
    () => {
      for (const callback of callbacks) callback()
    },
    { once: true },
  )
  return callbacks
}
