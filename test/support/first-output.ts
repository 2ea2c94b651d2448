import type { ChildProcess } from 'node:child_process'
import { type EventEmitter, once } from 'node:events'

/**
 * The first text that a server in a process prints.
 *
 * @throws Error with what it wrote to a piped stderr, when it ends before
 */
export async function firstOutput(child: ChildProcess): Promise<string> {
  return String(await first(child, child.stdout as EventEmitter, 'data'))
}

/**
 * The first message that a forked process sends.
 *
 * @throws Error with what it wrote to a piped stderr, when it ends before
 */
export function firstMessage(child: ChildProcess): Promise<unknown> {
  return first(child, child, 'message')
}

async function first(child: ChildProcess, source: EventEmitter, event: string): Promise<unknown> {
  let errors = ''
  const note = (text: Buffer) => {
    errors += text
  }
  child.stderr?.on('data', note)
  try {
    const ended = once(child, 'close').then(([code]) => {
      throw new Error(`ended with ${code} before it was ready: ${errors}`)
    })
    const [value] = await Promise.race([once(source, event), ended])
    return value
  } finally {
    child.stderr?.off('data', note)
  }
}
