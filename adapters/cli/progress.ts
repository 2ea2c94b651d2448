const WIDTH = 30

/** A progress bar on stderr, on terminals only. */
export function createProgress(total: number) {
  const { stderr } = process

  return {
    isShown: stderr.isTTY === true,
    show(done: number, note = ''): void {
      if (!stderr.isTTY) return
      const filled = Math.round((done / total) * WIDTH)
      const bar = '#'.repeat(filled).padEnd(WIDTH, '.')
      stderr.write(`\r\x1b[K[${bar}] ${done} of ${total}${note && `  ${note}`}`)
    },
    end(): void {
      if (stderr.isTTY) stderr.write('\r\x1b[K')
    },
  }
}
