const listening = new WeakMap<AbortSignal, ReturnType<typeof listen>>()

/**
 * Calls back when the signal aborts, until the returned function is called. A signal has one listener,
 * as an EventTarget warns of a leak at the eleventh, and `AbortSignal.any` would stay forever.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  const { callbacks, callAll } = listening.get(signal) ?? listen(signal)
  callbacks.add(callback)
  return () => {
    if (!callbacks.delete(callback) || callbacks.size > 0) return
    listening.delete(signal)
    signal.removeEventListener('abort', callAll)
  }
}

function listen(signal: AbortSignal) {
  const callbacks = new Set<() => void>()
  const callAll = () => {
    for (const one of callbacks) one()
  }
  signal.addEventListener('abort', callAll, { once: true })
  listening.set(signal, { callbacks, callAll })
  return { callbacks, callAll }
}
