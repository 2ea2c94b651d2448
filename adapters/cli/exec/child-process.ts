import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { setTimeout } from 'node:timers/promises'
// It runs `npm.cmd` and other scripts on Windows, too.
import spawn from 'cross-spawn'
import { UsageError } from '../usage-error.js'

/** Runs a command without input, captures its output, and ends it with all its descendants. */
export interface Capture {
  readonly timeoutMs: number
  /** Also ends the time limit. */
  readonly late?: AbortSignal | undefined
  readonly signal: AbortSignal
}

export interface ChildRun {
  /** The exit code, or 128 + n for a command ended by signal n; undefined after the time limit. */
  readonly code: number | undefined
  /** End of stdout and stderr; empty unless captured. */
  readonly output: string
}

/** @throws UsageError if it cannot be run, or the reason of the signal */
export async function runChild(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  capture?: Capture,
): Promise<ChildRun> {
  capture?.signal.throwIfAborted()
  const [command = '', ...rest] = words
  const child = spawn(command, rest, {
    env,
    stdio: capture ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    detached: capture !== undefined && HAS_GROUPS,
    windowsHide: true,
  })
  const ended = endOf(child, command)
  if (capture) return captured(child, ended, capture)
  const group = watchGroup()
  const pending = new Set<NodeJS.Signals>()
  const forward = async (signal: NodeJS.Signals) => {
    // `timeout` signals this process and then its group.
    if (pending.has(signal)) return
    pending.add(signal)
    if (await group.got(signal)) await setTimeout(GROUP_WAIT, undefined, { ref: false })
    else child.kill(signal)
    pending.delete(signal)
  }
  const end = onSignals(FORWARDED, forward)
  return {
    code: await ended.finally(() => {
      end()
      group.end()
    }),
    output: '',
  }
}

/** In ms: a signal for the whole group has arrived by then. */
const GROUP_WAIT = 250

/**
 * Finds out if a signal went to the whole process group, and so to the command, too: by a process
 * in it that the signal ends.
 */
function watchGroup() {
  let witness = start()
  let isOver = false
  return {
    async got(signal: NodeJS.Signals): Promise<boolean> {
      if (!HAS_GROUPS || witness.pid === undefined)
        return FROM_TERMINAL.includes(signal) && process.stdin.isTTY
      if (witness.signalCode === null)
        await Promise.race([once(witness, 'exit'), setTimeout(GROUP_WAIT)])
      const isHit = witness.signalCode === signal
      if (isHit && !isOver) witness = start()
      return isHit
    },
    end() {
      isOver = true
      witness.kill('SIGKILL')
    },
  }
}

/** For systems without process groups, or without `cat`. */
const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT']

/** It waits for the end of its input, which comes with the end of this process. */
function start(): ChildProcess {
  const witness = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'], windowsHide: true })
  witness.on('error', () => {})
  return witness
}

export function onSignals(
  signals: readonly NodeJS.Signals[],
  listener: (signal: NodeJS.Signals) => void,
): () => void {
  for (const signal of signals) process.on(signal, listener)
  return () => {
    for (const signal of signals) process.off(signal, listener)
  }
}

async function captured(
  child: ChildProcess,
  ended: Promise<number>,
  { timeoutMs, late: early, signal }: Capture,
): Promise<ChildRun> {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-MOST_OUTPUT)
    })
  }
  const closed = once(child, 'close').catch(() => {})
  const late = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(early ? [early] : [])])
  const stop = AbortSignal.any([late, signal])
  const abort = () => kill(child)
  stop.addEventListener('abort', abort)
  try {
    const code = await ended
    const isLate = late.aborted
    // Kill leftover processes: they keep the pipes open and disturb later runs.
    kill(child)
    // A process in another process group survives, and may keep the streams open.
    await Promise.race([closed, setTimeout(MOST_WAIT)])
    child.stdout?.destroy()
    child.stderr?.destroy()
    signal.throwIfAborted()
    return { code: isLate ? undefined : code, output }
  } finally {
    stop.removeEventListener('abort', abort)
  }
}

/** Maximum characters of captured output. */
const MOST_OUTPUT = 65_536
/** Wait for remaining output, in ms. */
const MOST_WAIT = 500

async function endOf(child: ChildProcess, command: string): Promise<number> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      `exec cannot run ${command}: ${code}; is it installed and on the PATH? A line of a shell needs one: exec -- sh -c '…'`,
    )
  }
}

/** Signals that ask a process to end; Windows does not have all of them. */
export const ENDING = (['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const).filter(
  signal => signal in constants.signals,
)

const FORWARDED: readonly NodeJS.Signals[] =
  process.platform === 'win32' ? ENDING : [...ENDING, 'SIGUSR1', 'SIGUSR2']

const HAS_GROUPS = process.platform !== 'win32'

function kill(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    if (HAS_GROUPS) process.kill(-child.pid, 'SIGKILL')
    else if (child.exitCode === null) spawn.sync('taskkill', ['/t', '/f', '/pid', `${child.pid}`])
  } catch {
    // The process has already ended.
  }
}
