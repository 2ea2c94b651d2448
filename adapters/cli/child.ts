import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { UsageError } from './usage-error.js'

/**
 * Runs a command on the streams of this process, and forwards signals to it.
 *
 * @returns its exit code, or 128 + n where signal n ended it
 * @throws UsageError where it cannot be run
 */
export async function runChild(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { child, ended } = start(words, { stdio: 'inherit', env })
  const forward = (signal: NodeJS.Signals) => {
    // A terminal also signals the command.
    if (!FROM_TERMINAL.includes(signal) || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  try {
    return await ended
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
}

export interface CapturedRun {
  /** The exit code, or 128 + n where signal n ended it; undefined where it took too long. */
  readonly code: number | undefined
  /** The end of what it has printed, on stdout and stderr. */
  readonly output: string
}

/**
 * Runs a command without input, keeps what it prints, and ends it with everything it has started.
 *
 * @param timeoutMs how long it may take
 * @param signal ends it early
 * @throws UsageError where it cannot be run, or the reason of the signal
 */
export async function runCaptured(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CapturedRun> {
  signal.throwIfAborted()
  const { child, ended } = start(words, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    detached: HAS_GROUPS,
    windowsHide: true,
  })
  const output = captureOutput(child)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    kill(child)
  }, timeoutMs)
  const abort = () => kill(child)
  signal.addEventListener('abort', abort)
  try {
    const code = await ended
    // Whatever it has left running would hold its output, and disturb nobody but other runs.
    kill(child)
    await output.end()
    signal.throwIfAborted()
    return { code: isLate ? undefined : code, output: output.read() }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

function start([command = '', ...words]: readonly string[], options: SpawnOptions) {
  const child = spawn(command, words, options)
  return { child, ended: endOf(child, command) }
}

async function endOf(child: ChildProcess, command: string): Promise<number> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`exec cannot run ${command}: ${code}; is it installed and on the PATH?`)
  }
}

const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']

/** Windows does not have all of them. */
const FORWARDED = (
  ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const
).filter(signal => signal in constants.signals)

/** Windows has no process groups. */
const HAS_GROUPS = process.platform !== 'win32'

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    if (HAS_GROUPS) process.kill(-child.pid, 'SIGKILL')
    else child.kill('SIGKILL')
  } catch {
    // It has ended.
  }
}

/** How many characters of output are kept. */
const MOST_OUTPUT = 65_536
/** A process that goes on writing may not hold the end for longer. */
const MOST_TURNS = 100

function captureOutput({ stdout, stderr }: ChildProcess) {
  let text = ''
  let chunks = 0
  const streams = [stdout, stderr].filter(stream => stream !== null)
  for (const stream of streams) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-MOST_OUTPUT)
      chunks++
    })
  }
  return {
    read: () => text,
    /**
     * Reads what the command has written. The streams may not end: a process in a session of its own
     * is not ended with it, and may hold them.
     */
    async end() {
      // What is in a pipe is read in the next turn of the event loop, after the rest of this one.
      for (let turns = 0, quiet = 0; quiet < 2 && turns < MOST_TURNS; turns++) {
        const before = chunks
        await nextTurn()
        quiet = chunks === before ? quiet + 1 : 0
      }
      for (const stream of streams) stream.destroy()
    },
  }
}
