import { createNotifier, type ListenerFailure } from '../src/lib/listeners.js'

/** The default of `onListenerError`: a process warning, or the console where there is no process. */
export function reportListenerError({ error, name }: ListenerFailure): void {
  const message = `The listener of ${name} failed`
  const detail = String(error instanceof Error ? error.stack : error)
  if (typeof globalThis.process?.emitWarning !== 'function') console.error(message, detail)
  else process.emitWarning(message, { type: 'ListenerWarning', detail })
}

/** Calls the hook of an adapter without the option `onListenerError`. */
export const notify = createNotifier(reportListenerError)
