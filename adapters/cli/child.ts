import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
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
  const child = spawn(command, words, { stdio: STDIO, env })
  const unnamed = watchUnnamedSignal(child)
  const forward = (signal: NodeJS.Signals) => {
    // A terminal also signals the command.
    if (!FROM_TERMINAL.includes(signal) || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  try {
    const [code, signal] = await endOf(child, command)
    if (signal !== null) return 128 + constants.signals[signal]
    const number = unnamed.read()
    return number === undefined ? (code ?? 1) : 128 + number
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward)
    unnamed.end()
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

/** Only there, signals have no names that Node knows. */
const HAS_UNNAMED_SIGNALS = process.platform === 'linux'

/** The pipe ends with the process: before Node takes note of its end, and after the system has. */
const STDIO: StdioOptions = HAS_UNNAMED_SIGNALS
  ? ['inherit', 'inherit', 'inherit', 'pipe']
  : 'inherit'

/** Node reports an end by a real-time signal as exit code 0; until then, `/proc` knows better. */
function watchUnnamedSignal(child: ChildProcess) {
  const pipe = child.stdio[3] as Socket | null | undefined
  let signal: number | undefined
  pipe
    ?.on('error', () => {})
    .on('end', () => {
      if (child.pid !== undefined) signal = signalThatEnded(child.pid)
    })
  pipe?.resume()
  return { read: () => signal, end: () => pipe?.destroy() }
}

/** The kernel closes the files of a process some microseconds before it records how it ended. */
const MOST_READS = 1_000

function signalThatEnded(pid: number): number | undefined {
  for (let read = 0; read < MOST_READS; read++) {
    const { state, waitStatus } = readStat(pid)
    if (state === 'Z') return waitStatus & 0x7f || undefined
    if (state === undefined) return undefined
  }
  // A process may close its files and live on.
  return undefined
}

/** proc_pid_stat(5): the fields after the name, which may hold anything, begin with the third. */
function readStat(pid: number): {
  readonly state: string | undefined
  readonly waitStatus: number
} {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state: fields[0], waitStatus: Number(fields[49]) }
  } catch {
    return { state: undefined, waitStatus: 0 }
  }
}
