import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { firstOutput } from './first-output.js'
import { MAIN } from './paths.js'

/** The command line as a server, in a process of its own. */
export interface Served {
  readonly child: ChildProcess
  /** The object of its ready line. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about
  readonly ready: any
  log(): string
  /** Ends it, by SIGTERM unless told otherwise. */
  stop(signal?: NodeJS.Signals): Promise<{ readonly code: number | null; readonly log: string }>
}

/** Starts `serve` with these options, on a free port unless they name one, until the test ends. */
export async function served(
  t: TestContext,
  words: readonly string[] = [],
  cwd?: string,
): Promise<Served> {
  const { child, log, stop } = startServer(t, words, cwd)
  const ready = JSON.parse(await firstOutput(child))
  return { child, ready, log, stop }
}

/** The same, at once. */
export function startServer(t: TestContext, words: readonly string[], cwd?: string) {
  const port = words.includes('--port') ? [] : ['--port', '0']
  const child = spawn(process.execPath, [MAIN, ...port, '--json', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd,
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  let log = ''
  child.stderr.on('data', text => {
    log += text
  })
  return {
    child,
    log: () => log,
    async stop(signal: NodeJS.Signals = 'SIGTERM') {
      child.kill(signal)
      const [code] = await ended
      return { code: code as number | null, log }
    },
  }
}
