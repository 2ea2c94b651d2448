import { printable, withoutCommands } from '../../src/lib/printable.js'

/** Writes to stdout. All output of the commands passes here or through `printError`. */
export function print(text: string): void {
  process.stdout.write(withoutCommands(text))
}

export function printError(text: string): void {
  process.stderr.write(withoutCommands(text))
}

export function note(message: string): void {
  printError(`animal-adoption-store: ${printable(message)}\n`)
}

/** A record of `--log json` with a level of pino: 30 info, 40 warning, 50 error, 60 fatal. */
export function jsonRecord(event: string, fields: object, time: number): string {
  const level = LEVELS[event] ?? 30
  return JSON.stringify({ level, time: new Date(time).toISOString(), event, ...fields })
}

const LEVELS: Readonly<Record<string, number>> = {
  'seed.ignored': 40,
  warning: 40,
  'storage.warning': 40,
  'ratelimit.degraded': 40,
  'storage.failed': 50,
  'storage.unavailable': 50,
  'reload.failed': 50,
  failed: 60,
}

export function createProgress() {
  const isShown = process.stderr.isTTY === true
  const write = (text: string) => {
    if (isShown) process.stderr.write(`\r\x1b[K${text}`)
  }
  return {
    isShown,
    show: (done: number, total: number, text = '') => write(`${done} of ${total}  ${text}`),
    end: () => write(''),
  }
}
