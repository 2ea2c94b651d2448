import type { Awaitable } from '../../../src/lib/async.js'
import type { FaultKind } from '../../verdict/log/fault-kinds.js'
import { notify } from '../../warnings.js'
import type { Fault } from '../faults/fault.js'
import { faultsAt, type Shown } from './faults-at.js'
import { type Schedule, scheduleText, stepOf } from './schedule.js'

export interface Outcome<Failure> {
  readonly requests: readonly Shown[]
  readonly isReached: boolean
  readonly failure?: Failure | undefined
}

export interface SearchOptions<Failure> {
  readonly faults: readonly Fault[]
  /** Those of the faults that only the first request of each operation gets. @default none */
  readonly once?: readonly Fault[]
  readonly depth: number
  readonly schedules: number
  /** Number of parallel runs. @default 1 */
  readonly jobs?: number
  readonly run: (schedule: Schedule) => Awaitable<Outcome<Failure>>
  readonly onRun?: ((progress: Progress) => void) | undefined
  /** Reorders the schedules of one size, which does not affect the result. */
  readonly order?: ((level: readonly Candidate[]) => readonly Candidate[]) | undefined
}

export interface Progress {
  /** The schedule that has just run. */
  readonly schedule: string
  /** Its number of faults. */
  readonly depth: number
  readonly runs: number
  readonly pruned: number
  readonly failures: number
  /** Upper bound of the schedules of this depth that remain. */
  readonly left: number
}

export type Found<Failure> = Awaited<ReturnType<typeof search<Failure>>>

export interface Candidate {
  readonly schedule: Schedule
  readonly positions: readonly number[]
  /** Requests of the run without the last fault. */
  readonly before: readonly Shown[]
  /** The texts of each step: its own, and the faults that are indistinguishable there. */
  readonly texts: readonly (readonly string[])[]
}

interface Passed extends Candidate {
  readonly requests: readonly Shown[]
}

/**
 * Runs every schedule that earlier runs show to be possible, by number of faults. Two runs are the
 * same until the first request that only one gives a fault, so a schedule is extended only behind its
 * last request. One that contains a failed one is left out, as its failure would not be minimal.
 */
export async function search<Failure>(options: SearchOptions<Failure>) {
  const { faults, once = [], depth, schedules, jobs = 1, run, onRun, order } = options
  const failures: (Candidate & { readonly failure: Failure })[] = []
  const notes: (Candidate & { readonly note: string })[] = []
  const failed = new Set<string>()
  const unreached: Candidate[] = []
  let [runs, pruned, left, isCut] = [0, 0, 1, false]
  let passed: Passed[] = []

  for (let size = 0; size <= depth && !isCut; size++) {
    const level =
      size === 0 ? [{ schedule: [], positions: [], texts: [], before: [] }] : extensions(passed)
    left = size === 0 ? 1 : countExtensions(passed)
    passed = []
    const candidates = order ? order([...level]) : level
    await Promise.all(workers(candidates))
  }
  return {
    runs,
    pruned,
    exhausted: !isCut && unreached.length === 0,
    failures: failures.toSorted(inOrder).map(({ schedule, failure }) => ({ schedule, failure })),
    /** The first passed run for each note about an unnoticed fault. */
    notes: notes
      .toSorted(inOrder)
      .filter(({ note }, at, all) => all.findIndex(one => one.note === note) === at)
      .map(({ schedule, note }) => ({ schedule, note })),
    /** Schedules with a request that never came, although an earlier run had it. */
    unreached: unreached.toSorted(inOrder).map(({ schedule }) => schedule),
  }

  function workers(candidates: Iterable<Candidate>): Promise<void>[] {
    const shared = candidates[Symbol.iterator]()
    return Array.from({ length: jobs }, async () => {
      for (let next = shared.next(); !next.done && !isCut; next = shared.next()) {
        await tryOne(next.value)
      }
    })
  }

  async function tryOne(candidate: Candidate): Promise<void> {
    const { schedule } = candidate
    left--
    if (contains(schedule, failed)) {
      pruned++
      return
    }
    if (runs === schedules) {
      isCut = true
      return
    }
    runs++
    const { requests, isReached, failure } = await run(schedule)
    const note = unnoticed(candidate, requests)
    if (note !== undefined && isReached && failure === undefined) notes.push({ ...candidate, note })
    if (failure !== undefined) {
      failures.push({ ...candidate, failure })
      for (const texts of combinations(candidate.texts)) failed.add(keyOf(texts))
    } else if (!isReached) unreached.push(candidate)
    else if (schedule.length < depth) passed.push({ ...candidate, requests })
    const text = scheduleText(schedule)
    notify('onRun', onRun, {
      schedule: text,
      depth: schedule.length,
      runs,
      pruned,
      failures: failures.length,
      left,
    })
  }

  function* extensions(nodes: readonly Passed[]): Generator<Candidate> {
    for (const { schedule, positions, texts, requests } of nodes) {
      for (let at = (positions.at(-1) ?? -1) + 1; at < requests.length; at++) {
        const request = requests[at] as Shown
        const { distinct, pruned: same } = faultsAt(request, possibleAt(request))
        pruned += same
        for (const { fault, twins } of distinct) {
          const step = stepOf(request.point, fault)
          const others = twins.map(twin => stepOf(request.point, twin).text)
          yield {
            schedule: [...schedule, step],
            positions: [...positions, at],
            before: requests,
            texts: [...texts, [step.text, ...others]],
          }
        }
      }
    }
  }

  function possibleAt({ point }: Shown): readonly Fault[] {
    return point.endsWith('#1') ? faults : faults.filter(fault => !once.includes(fault))
  }

  function countExtensions(nodes: readonly Passed[]): number {
    let count = 0
    for (const { positions, requests } of nodes) {
      const behind = requests.slice((positions.at(-1) ?? -1) + 1)
      for (const request of behind) count += faultsAt(request, possibleAt(request)).distinct.length
    }
    return count
  }

  function inOrder(one: Candidate, other: Candidate): number {
    return compare(rank(one, faults), rank(other, faults))
  }
}

/** The response that the last fault spoiled, if its operation was not called once more. */
function unnoticed({ schedule, positions, before }: Candidate, requests: readonly Shown[]) {
  const { point, fault } = schedule.at(-1) ?? {}
  const what = fault && SPOILED[fault.kind]
  const operation = before[positions.at(-1) ?? 0]?.operation
  const callsIn = (all: readonly Shown[]) => all.filter(one => one.operation === operation).length
  return what && callsIn(requests) <= callsIn(before) ? `${point} was ${what}` : undefined
}

const SPOILED: Partial<Record<FaultKind, string>> = {
  truncate: 'cut off',
  malformed: 'malformed',
  status: 'an error',
}

/** Every smaller part ran before, if it is possible at all. */
function contains(schedule: Schedule, failed: ReadonlySet<string>): boolean {
  if (failed.size === 0) return false
  const texts = schedule.map(({ text }) => text)
  for (let part = 1; part < 2 ** texts.length - 1; part++) {
    if (failed.has(keyOf(texts.filter((_, at) => part & (1 << at))))) return true
  }
  return false
}

/** Fewest faults first, then by positions of the requests, then by order of the faults. */
function rank({ schedule, positions }: Candidate, faults: readonly Fault[]): readonly number[] {
  return [schedule.length, ...positions, ...schedule.map(({ fault }) => faults.indexOf(fault))]
}

function combinations(choices: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const [first, ...rest] = choices
  if (!first) return [[]]
  return combinations(rest).flatMap(others => first.map(one => [one, ...others]))
}

/** Returns the same key for the same faults at the same requests, in any order. */
function keyOf(texts: readonly string[]): string {
  return texts.toSorted().join(' ')
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((value, at) => value !== other[at])
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0)
}
