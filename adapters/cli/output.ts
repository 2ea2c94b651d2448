import { printable } from '../../src/lib/printable.js'

/** Says something on stderr, in one line. */
export function note(message: string): void {
  process.stderr.write(`animal-adoption-store: ${printable(message)}\n`)
}

/** How far it is, on stderr, on terminals only. */
export function createProgress(total: number) {
  const isShown = process.stderr.isTTY === true
  const write = (text: string) => {
    if (isShown) process.stderr.write(`\r\x1b[K${text}`)
  }
  return {
    isShown,
    show: (done: number, text = '') => write(`${done} of ${total}  ${text}`),
    end: () => write(''),
  }
}
