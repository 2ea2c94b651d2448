import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { SIGNAL_PIPE, watchExitCode } from './exit-code.js'
import { UsageError } from './flags.js'

/**
 * Runs a command on the streams of this process, and forwards signals to it.
 *
 * @returns its exit code, or 128 + n where signal n ended it
 * @throws UsageError where it cannot be run
 */
export async function runChild(
  [command = '', ...words]: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const child = spawn(command, words, {
    stdio: ['inherit', 'inherit', 'inherit', ...SIGNAL_PIPE],
    env,
  })
  const exitCode = watchExitCode(child)
  const forward = (signal: NodeJS.Signals) => {
    // A terminal also signals the command.
    if (!FROM_TERMINAL.includes(signal) || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  try {
    return exitCode.of(...(await endOf(child, command)))
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward)
    exitCode.end()
  }
}

const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']

/** Windows does not have all of them. */
const FORWARDED = (
  ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const
).filter(signal => signal in constants.signals)

async function endOf(
  child: ChildProcess,
  command: string,
): Promise<[code: number | null, signal: NodeJS.Signals | null]> {
  const started = once(child, 'spawn')
  const ended = once(child, 'exit')
  try {
    await started
  } catch (error) {
    ended.catch(() => {})
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`exec cannot run ${command}: ${code}; is it installed and on the PATH?`)
  }
  return (await ended) as [number | null, NodeJS.Signals | null]
}
