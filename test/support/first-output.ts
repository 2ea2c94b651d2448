import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/**
 * The first text that a server in a process prints.
 *
 * @throws Error with what it wrote to a piped stderr, when it ends before
 */
export async function firstOutput(child: ChildProcess): Promise<string> {
  let errors = ''
  const note = (text: Buffer) => {
    errors += text
  }
  child.stderr?.on('data', note)
  try {
    const ended = once(child, 'close').then(([code]) => {
      throw new Error(`ended with ${code} before it was ready: ${errors}`)
    })
    const [text] = await Promise.race([once(child.stdout as NodeJS.EventEmitter, 'data'), ended])
    return String(text)
  } finally {
    child.stderr?.off('data', note)
  }
}
