import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { MAIN, ROOT_URL } from './paths.js'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that is running. */
export interface Running {
  readonly stdout: Readable
  readonly stderr: Readable
  kill(signal?: NodeJS.Signals): void
  /** Its exit code; null where a signal has ended it. */
  readonly exit: Promise<number | null>
}

/** Runs the command line in a process that exits by itself. */
export function runCommand(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  return endOf(startCommand(words, env))
}

/** The same in a thread, see `startInThread`. */
export function runInThread(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  main = MAIN,
): Promise<Ended> {
  return endOf(startInThread(words, env, main))
}

function startCommand(words: readonly string[], env: NodeJS.ProcessEnv = process.env): Running {
  const child = spawn(process.execPath, [MAIN, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  const { stdout, stderr } = child
  const exit = once(child, 'exit').then(([code]) => code as number | null)
  return { stdout, stderr, exit, kill: signal => void child.kill(signal) }
}

/**
 * Starts the command line in a thread, or in one that has already run a command to its end: see
 * `command-thread.cjs`. Signals reach it as events of its `process`, so SIGKILL does nothing, and what
 * its own commands print to inherited streams is not captured.
 */
export function startInThread(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  main = MAIN,
): Running {
  // Threads do not run TypeScript from source.
  if (!existsSync(main)) return startCommand(words, env)
  const thread = idle.pop() ?? new Worker(COMMAND_THREAD, { execArgv: [] })
  const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
  let isRunning = true
  const exit = new Promise<number>((resolve, reject) => {
    thread.on('error', reject).on('message', ({ name, chunk, code }: FromThread) => {
      if (name) streams[name].write(chunk)
      if (code === undefined) return
      isRunning = false
      for (const stream of Object.values(streams)) stream.end()
      thread.removeAllListeners('message').removeAllListeners('error')
      thread.unref()
      idle.push(thread)
      resolve(code)
    })
  })
  thread.ref()
  thread.postMessage({ main, words, env: { ...env } })
  const kill = (signal: NodeJS.Signals = 'SIGTERM') => {
    if (isRunning) thread.postMessage({ signal })
  }
  return { ...streams, exit, kill }
}

interface FromThread {
  readonly name?: 'stdout' | 'stderr'
  readonly chunk?: string | Uint8Array
  readonly code?: number
}

const idle: Worker[] = []
const COMMAND_THREAD = supportFile('command-thread.cjs')

async function endOf({ stdout, stderr, exit }: Running): Promise<Ended> {
  const [out, err, code] = await Promise.all([text(stdout), text(stderr), exit])
  return { code, stdout: out, stderr: err }
}

const LIGHT_FETCH = supportFile('light-fetch.cjs')

/** The words that run a module as a command; its `fetch` is light, see `light-fetch.cjs`. */
export function scriptCommand(script: string): string[] {
  return [process.execPath, '--require', LIGHT_FETCH, '--input-type=module', '-e', script]
}

/** For files that are not in the build. */
function supportFile(name: string): string {
  return fileURLToPath(new URL(`test/support/${name}`, ROOT_URL))
}
