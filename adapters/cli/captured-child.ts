import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { UsageError } from './flags.js'

export interface CapturedRun {
  /** The exit code, or 128 + n where signal n ended it; undefined where it took too long. */
  readonly code: number | undefined
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
    const code = await endOf(child, command)
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

async function endOf(child: ChildProcess, command: string): Promise<number> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`exec cannot run ${command}: ${code}; is it installed and on the PATH?`)
  }
}

function captureOutput({ stdout, stderr }: ChildProcess) {
  let text = ''
  const streams = [stdout, stderr].filter(stream => stream !== null)
  const ends = streams.map(stream => {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-MOST_OUTPUT)
    })
    return once(stream, 'close')
  })
  return {
    read: () => text,
    async end() {
      if (!HAS_GROUPS) for (const stream of streams) stream.destroy()
      await Promise.all(ends)
    },
  }
}
