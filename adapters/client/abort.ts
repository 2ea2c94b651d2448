interface Listening {
  readonly callbacks: Set<() => void>
  readonly callAll: () => void
}

const listening = new WeakMap<AbortSignal, Listening>()

/**
 * Calls back when the signal aborts, until the returned function is called. A signal has one
 * listener however many callbacks it has: an EventTarget warns of a leak at the eleventh listener,
 * and `AbortSignal.any` would stay with a long-lived signal forever.
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

function listen(signal: AbortSignal): Listening {
  const callbacks = new Set<() => void>()
  const callAll = () => {
    for (const one of callbacks) one()
  }
  signal.addEventListener('abort', callAll, { once: true })
  listening.set(signal, { callbacks, callAll })
  return { callbacks, callAll }
}
