import type { Disk } from '../../adapters/stores/kit/disk.js'
import { type State, statesAfter } from '../crash/power-cut.js'
import { type SimulatedDisk, simulatedDisk } from '../crash/simulated-disk.js'
import { createPlannedCalls } from './planned-calls.js'
import { choicesOf } from './random.js'
import type { Scheduler } from './scheduler.js'
import { ensure } from './violation.js'

export type DiskCall = 'any' | keyof Disk

export interface DiskFailure {
  readonly call: DiskCall
  readonly code: 'EIO' | 'ENOSPC'
  /** The call does its work nevertheless, or a part of it. */
  readonly isDone: boolean
}

const FOLDER = '/data'
/** In bytes, by all processes of a world: several times what any world has written. */
const MOST_WRITTEN = 400_000_000
/** Above every pid that a system gives. */
const NO_PROCESS = 5_000_000
/** Take space, and so fail on a full disk. */
const GROWING = new Set(['open', 'write', 'writeSync', 'mkdir'])
/** Calls that work on a failing disk: names and numbers are in memory, and so is `close`. */
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
  const planned = createPlannedCalls<keyof Disk, DiskFailure>()
  const alive = new Set<number>()
  const handles = new Map<unknown, number>()
  const realKill = process.kill
  process.kill = pid => {
    if (alive.has(pid)) return true
    throw Object.assign(new Error('kill ESRCH'), { code: 'ESRCH' })
  }

  return {
    ...planned,
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
    setFull(full: boolean): void {
      isFull = full
    },
    /** Ends all failures, also those that are still to come. */
    heal(): void {
      planned.heal()
      isFull = false
    },
    failures: () => failed,
    /** The disk of somebody for whom no call fails or takes time. */
    quiet: () => disk.as(NO_PROCESS),
    /** Of all files and folders beside the document. */
    names: () => disk.as(NO_PROCESS).readdir(FOLDER),
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
        if (name === 'writeSync') return writeNow(calls)
        const call = calls[name]
        return name === 'pid' || name.endsWith('Sync') ? call : callLater(name, call as Call, calls)
      },
    })
  }

  /** A dead process goes on in this one, but nothing it does has an effect. */
  function writeNow({ writeSync, pid }: Disk): Disk['writeSync'] {
    return (...given) => {
      const name = 'writeSync'
      if (alive.has(pid)) planned.ring(name, 'before')
      if (!alive.has(pid)) return given[3]
      const failure = failureOf(name)
      const isShort = failure || choicesOf(seed, 'short write', ++writes).chance(0.05)
      const done = isShort ? half(given) : given
      if (!failure || failure.isDone) writeSync(...done)
      end(name)
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
          planned.ring(name, 'before')
          if (!alive.has(pid)) return
          if (name === 'write') count(given[3] as number)
          const failure = failureOf(name)
          if (!failure) {
            call(...given).then(result => resolve(opened(name, given, result, pid)), reject)
          } else if (failure.isDone) {
            call(...(name === 'write' ? half(given as Write) : given)).catch(() => {})
          }
          if (failure) reject(errorOf(failure, name))
          end(name)
        })
      })
  }

  function opened(name: keyof Disk, [file]: unknown[], result: unknown, pid: number): unknown {
    if (name === 'open') handles.set(result, pid)
    if (name === 'close') handles.delete(file)
    return result
  }

  /** The disk keeps all that was ever written. */
  function count(bytes: number): void {
    written += bytes
    ensure(written <= MOST_WRITTEN, 'memory.bounded', () => `${written} bytes were written`)
  }

  function end(name: keyof Disk): void {
    planned.ring(name, 'after')
    planned.count(name)
  }

  function failureOf(name: keyof Disk): DiskFailure | undefined {
    if (IN_MEMORY.has(name)) return undefined
    const full: DiskFailure = { call: name, code: 'ENOSPC', isDone: name.startsWith('write') }
    const next = planned.takeFailure(({ call }) => call === 'any' || call === name)
    const failure = next ?? (isFull && GROWING.has(name) ? full : undefined)
    if (failure) failed++
    return failure
  }
}

/** The scheduler gives every call its turn. */
function atOnce(): number {
  return 0
}

type Call = (...given: unknown[]) => Promise<unknown>
type Write = Parameters<Disk['writeSync']>

/** Half of the bytes of a write. */
function half([file, bytes, offset, length, position]: Write): Write {
  return [file, bytes, offset, (length + 1) >> 1, position]
}

function errorOf({ code }: DiskFailure, name: string): Error {
  const reason = code === 'EIO' ? 'i/o error' : 'no space left on device'
  return Object.assign(new Error(`${code}: ${reason}, ${name}`), { code })
}
