const listeners = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls back when the signal aborts, until the returned function is called. A signal gets one
 * listener for any number of callbacks: an EventTarget warns of a leak at the eleventh, and
 * searches all of them to remove one.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const callbacks = listeners.get(signal) ?? new Set()
  if (!listeners.has(signal)) {
    const callAll = () => {
      for (const one of callbacks) one()
    }
    signal.addEventListener('abort', callAll, { once: true })
    listeners.set(signal, callbacks)
  }
  callbacks.add(callback)
  return () => void callbacks.delete(callback)
}
