import { createNotifier, type ListenerFailure } from '../src/lib/listeners.js'

/** Tells whoever runs the program: by a process warning, or the console where there is no process. */
export function warn(message: string, type?: string, detail = ''): void {
  if (typeof globalThis.process?.emitWarning !== 'function') console.error(message, detail)
  else process.emitWarning(message, { type, detail })
}

/** The default of `onListenerError`. */
export function reportListenerError({ error, name }: ListenerFailure): void {
  const detail = String(error instanceof Error ? error.stack : error)
  warn(`The listener of ${name} failed`, 'ListenerWarning', detail)
}

/** Calls the hook of an adapter without the option `onListenerError`. */
export const notify = createNotifier(reportListenerError)
