import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { SIGNAL_PIPE, watchExitCode } from './exit-code.js'
import { UsageError } from './flags.js'

export interface CapturedRun {
  /** The exit code, or 128 + n where signal n ended it; undefined where it took too long. */
  readonly code: number | undefined
  /** Otherwise, a code of 0 may stand for a signal. */
  readonly isCertain: boolean
  /** The end of what it has printed, on stdout and stderr. */
  readonly output: string
}

/** How many characters of output are kept. */
const MOST_OUTPUT = 65_536

/**
 * Runs a command without input, keeps what it prints, and ends it with everything it has started.
 *
 * @param timeoutMs how long it may take
 * @param signal ends it early
 * @throws UsageError where it cannot be run, or the reason of the signal
 */
export async function runCaptured(
  [command = '', ...words]: readonly string[],
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<CapturedRun> {
  signal.throwIfAborted()
  const child = spawn(command, words, {
    stdio: ['ignore', 'pipe', 'pipe', ...SIGNAL_PIPE],
    env,
    detached: HAS_GROUPS,
    windowsHide: true,
  })
  const exitCode = watchExitCode(child)
  const output = captureOutput(child)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    kill(child)
  }, timeoutMs)
  const abort = () => kill(child)
  signal.addEventListener('abort', abort)
  try {
    const ended = await endOf(child, command)
    clearTimeout(timer)
    const code = exitCode.of(...ended)
    const isCertain = await exitCode.isCertain(...ended)
    // Whatever it has left running would hold its output, and disturb nobody but other runs.
    kill(child)
    await output.end()
    signal.throwIfAborted()
    return { code: isLate ? undefined : code, isCertain, output: output.read() }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    exitCode.end()
  }
}

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

async function endOf(
  child: ChildProcess,
  command: string,
): Promise<[code: number | null, signal: NodeJS.Signals | null]> {
  try {
    return (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`exec cannot run ${command}: ${code}; is it installed and on the PATH?`)
  }
}

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
