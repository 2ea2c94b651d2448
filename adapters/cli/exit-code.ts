import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { constants } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * The fourth stream of a command, for `watchExitCode`. The pipe ends with the process: before Node takes
 * note of its end, and after the system has. Only on Linux, signals have no names that Node knows.
 */
export const SIGNAL_PIPE: readonly 'pipe'[] = process.platform === 'linux' ? ['pipe'] : []

/**
 * The exit code of a command that was just started: its own, or 128 + n where signal n ended it. Node
 * reports an end by a real-time signal as exit code 0; until then, `/proc` knows better.
 */
export function watchExitCode(child: ChildProcess) {
  const pipe = child.stdio[3] as Socket | null | undefined
  let unnamed: number | undefined
  let hasEnded = false
  pipe
    ?.on('error', () => {})
    .on('end', () => {
      hasEnded = true
      if (child.pid !== undefined) unnamed = signalThatEnded(child.pid)
    })
  pipe?.resume()
  return {
    of(code: number | null, signal: NodeJS.Signals | null): number {
      const number = signal === null ? unnamed : constants.signals[signal]
      return number === undefined ? (code ?? 1) : 128 + number
    },
    /**
     * When one command ends, Node takes note of the ends of all of them: of one that has ended only just
     * now, before its pipe was read. Then 0 may stand for a signal.
     */
    async isCertain(code: number | null, signal: NodeJS.Signals | null): Promise<boolean> {
      if (!pipe || signal !== null || code !== 0 || hasEnded) return true
      // In the next turn of the event loop, after the rest of this one, the end of the pipe is read.
      await nextTurn()
      await nextTurn()
      return !hasEnded
    },
    end: () => pipe?.destroy(),
  }
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
