import { printable } from '../../src/lib/printable.js'

/** Says something on stderr, in one line. */
export function note(message: string): void {
  process.stderr.write(`animal-adoption-store: ${printable(message)}\n`)
}

const WIDTH = 30

/** A progress bar on stderr, on terminals only. */
export function createProgress(total: number) {
  const { stderr } = process

  return {
    isShown: stderr.isTTY === true,
    show(done: number, text = ''): void {
      if (!stderr.isTTY) return
      const filled = Math.round((done / total) * WIDTH)
      const bar = '#'.repeat(filled).padEnd(WIDTH, '.')
      stderr.write(`\r\x1b[K[${bar}] ${done} of ${total}${text && `  ${text}`}`)
    },
    end(): void {
      if (stderr.isTTY) stderr.write('\r\x1b[K')
    },
  }
}
