import type { Disk } from '../../adapters/storage/disk.js'
import { type State, statesAfter } from '../crash/power-cut.js'
import { type SimulatedDisk, simulatedDisk } from '../crash/simulated-disk.js'
import { choicesOf } from './random.js'
import type { Scheduler } from './scheduler.js'
import { ensure } from './violation.js'

export type DiskCall = 'any' | keyof Disk

export interface DiskFailure {
  readonly call: DiskCall
  readonly code: 'EIO' | 'ENOSPC'
  /** Whether the call does its work nevertheless, or a part of it. */
  readonly isDone: boolean
}

const FOLDER = '/data'
/** In bytes, by all processes of a world: several times what any world has written. */
const MOST_WRITTEN = 400_000_000
/** Above every pid that a system gives. */
const NO_PROCESS = 5_000_000
/** Take space, and so fail on a full disk. */
const GROWING = new Set(['open', 'write', 'writeSync', 'mkdir'])
/** What a failing disk does not make fail: names and numbers are in memory, and so is `close`. */
const IN_MEMORY = new Set(['existsSync', 'statSync', 'close', 'link'])

/** A machine with one disk. */
export function createMachine(seed: string, scheduler: Scheduler, slowestMs: number) {
  const latency = { least: 0.02, most: slowestMs }
  let disk: SimulatedDisk<never> = simulatedDisk({}, atOnce)
  let pids = NO_PROCESS
  let cuts = 0
  let writes = 0
  let written = 0
  let failed = 0
  let isFull = false
  let failures: DiskFailure[] = []
  let alarms: Alarm[] = []
  const alive = new Set<number>()
  const handles = new Map<unknown, number>()
  const realKill = process.kill
  process.kill = pid => {
    if (alive.has(pid)) return true
    throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' })
  }

  return {
    /** The disk as a new process sees it. */
    start(): Disk {
      alive.add(++pids)
      return watched(disk.as(pids))
    },
    /** That process ends by itself. */
    exit: ({ pid }: Disk) => void alive.delete(pid),
    /** All processes end between two calls to the disk; what they wrote stays, synced or not. */
    kill: () => alive.clear(),
    /** The same, and of what was not synced any part may be lost. */
    cutPower(): void {
      alive.clear()
      disk = simulatedDisk(stateAfterCut(), atOnce)
    },
    /** Calls back before or after the call to the disk of that number and kind, counted from now on. */
    atCall(left: number, when: Alarm['when'], task: () => void, call: DiskCall = 'any'): void {
      alarms.push({ call, left, when, task })
    },
    /** The next such call fails. */
    failNext(failure: DiskFailure): void {
      failures.push(failure)
    },
    /** Whether every write fails because the disk is full. */
    setFull(full: boolean): void {
      isFull = full
    },
    /** Ends all failures, also those that are still to come. */
    heal(): void {
      failures = []
      alarms = []
      isFull = false
    },
    /** How many calls have failed so far. */
    failures: () => failed,
    /** Of all files and folders beside the document. */
    names: () => disk.as(NO_PROCESS).readdir(FOLDER),
    /** How many files are open. */
    handles: () => [...handles.values()].filter(pid => alive.has(pid)).length,
    dispose(): void {
      process.kill = realKill
    },
  }

  /** Nothing of what was not synced, everything, or more often any part. */
  function stateAfterCut(): State {
    const choices = choicesOf(seed, 'power cut', ++cuts)
    const states = [...statesAfter(disk.log, choices.below, 3)]
    const part = states.at(-1) as State
    return choices.pick([...states, part, part])
  }

  function watched(calls: Disk): Disk {
    return new Proxy(calls, {
      get(_, name: keyof Disk) {
        if (name === 'pid') return calls.pid
        const call = calls[name] as (...given: unknown[]) => unknown
        return name.endsWith('Sync') ? callNow(name, call, calls) : callLater(name, call, calls)
      },
    })
  }

  function callNow(name: keyof Disk, call: Call, { pid }: Disk): Call {
    return (...given) => {
      // A dead process goes on in this one, but nothing it does has an effect.
      if (!alive.has(pid)) return name === 'writeSync' ? given[3] : call(...given)
      if (name !== 'writeSync') return call(...given)
      ring(name, 'before')
      if (!alive.has(pid)) return given[3]
      const failure = failureOf(name)
      const isShort = failure || choicesOf(seed, 'short write', ++writes).chance(0.05)
      const done = isShort ? shortened(name, given) : given
      if (!failure || failure.isDone) call(...done)
      ring(name, 'after')
      if (failure) throw errorOf(failure, name)
      return done[3]
    }
  }

  /** A call that takes time. It never ends if the process dies meanwhile. */
  function callLater(name: keyof Disk, call: Call, { pid }: Disk): Call {
    return (...given) =>
      new Promise((resolve, reject) => {
        if (!alive.has(pid)) return
        scheduler.later(`disk ${name}`, latency, () => {
          if (!alive.has(pid)) return
          ring(name, 'before')
          if (!alive.has(pid)) return
          if (name === 'write') count(given[3] as number)
          const failure = failureOf(name)
          if (!failure || failure.isDone) {
            const done = call(...(failure ? shortened(name, given) : given)) as Promise<unknown>
            if (failure) done.catch(() => {})
            else done.then(result => resolve(opened(name, given, result, pid)), reject)
          }
          if (failure) reject(errorOf(failure, name))
          ring(name, 'after')
        })
      })
  }

  function opened(
    name: keyof Disk,
    [file]: readonly unknown[],
    result: unknown,
    pid: number,
  ): unknown {
    if (name === 'open') handles.set(result, pid)
    if (name === 'close') handles.delete(file)
    return result
  }

  /** The disk keeps all that was ever written. */
  function count(bytes: number): void {
    written += bytes
    ensure(written <= MOST_WRITTEN, 'memory.bounded', () => `${written} bytes were written`)
  }

  function ring(name: keyof Disk, now: Alarm['when']): void {
    const met = alarms.filter(({ call }) => call === 'any' || call === name)
    const due = met.filter(({ left, when }) => left < 0 || (left === 0 && when === now))
    if (due.length > 0) alarms = alarms.filter(alarm => !due.includes(alarm))
    if (now === 'after') for (const alarm of met) alarm.left--
    for (const { task } of due) task()
  }

  function failureOf(name: keyof Disk): DiskFailure | undefined {
    if (IN_MEMORY.has(name)) return undefined
    const full: DiskFailure = { call: name, code: 'ENOSPC', isDone: name.startsWith('write') }
    const next = failures.find(({ call }) => call === 'any' || call === name)
    const failure = next ?? (isFull && GROWING.has(name) ? full : undefined)
    if (next) failures = failures.filter(other => other !== next)
    if (failure) failed++
    return failure
  }
}

interface Alarm {
  readonly call: DiskCall
  readonly when: 'before' | 'after'
  /** How many calls are still to come before it. */
  left: number
  readonly task: () => void
}

type Call = (...given: unknown[]) => unknown

/** The scheduler gives every call its turn. */
function atOnce(): number {
  return 0
}

/** Half of the bytes of a write. */
function shortened(name: keyof Disk, given: readonly unknown[]): readonly unknown[] {
  if (!name.startsWith('write')) return given
  const [file, bytes, offset, length, position] = given
  return [file, bytes, offset, (Number(length) + 1) >> 1, position]
}

function errorOf({ code }: DiskFailure, name: string): Error {
  const reason = code === 'EIO' ? 'i/o error' : 'no space left on device'
  return Object.assign(new Error(`${code}: ${reason}, ${name}`), { code })
}
