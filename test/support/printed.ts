import assert from 'node:assert/strict'

/** The output that a JavaScript block announces; nothing by default. */
export function printsOf(info: string, code: string): string | undefined {
  if (!info.startsWith('js')) return undefined
  return [...code.matchAll(/\/\/ prints (.*)$/gm)].map(([, line]) => line).join('\n')
}

/** In `shown`, `…` stands for anything within a line, and alone for any lines. */
export function assertPrinted(printed: string, shown: string): void {
  const lines = shown.trimEnd().split('\n')
  const pattern = lines.map(line =>
    line.trim() === '…' ? '(.*\n)*?' : `${literally(line).replaceAll('…', '.*')}\n`,
  )
  if (new RegExp(`^${pattern.join('')}$`).test(`${printed.trimEnd()}\n`)) return
  assert.equal(printed.trimEnd(), shown.trimEnd())
}

function literally(line: string): string {
  return line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
