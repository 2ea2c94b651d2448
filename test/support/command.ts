import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { MAIN, ROOT_URL } from './paths.js'

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line in a process that exits by itself. */
export async function runCommand(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  const child = spawn(process.execPath, [MAIN, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  return { code, stdout, stderr }
}

/**
 * The same in a thread, which takes half the time. Signals do not reach it, and what its own commands
 * print to inherited streams is not captured.
 */
export async function runInThread(
  words: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<Ended> {
  // Threads do not run TypeScript from source.
  if (!existsSync(MAIN)) return runCommand(words, env)
  const thread = new Worker(MAIN, {
    argv: [...words],
    env,
    execArgv: [],
    stdout: true,
    stderr: true,
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(thread.stdout),
    text(thread.stderr),
    once(thread, 'exit'),
  ])
  return { code, stdout, stderr }
}

const LIGHT_FETCH = fileURLToPath(new URL('test/support/light-fetch.cjs', ROOT_URL))

/** The words that run a module as a command; its `fetch` is light, see `light-fetch.cjs`. */
export function scriptCommand(script: string): string[] {
  return [process.execPath, '--require', LIGHT_FETCH, '--input-type=module', '-e', script]
}
