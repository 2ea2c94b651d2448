import { choicesOf } from './random.js'

/**
 * Virtual time. Whatever happens later, a message that arrives, a call to the disk that ends, a timer, is
 * an event of one queue; nothing happens between two of them.
 */
export interface Scheduler {
  /** In ms since the epoch, with fractions. */
  now(): number
  /** How many events have happened. */
  steps(): number
  /**
   * Has something happen after a random delay. The delay depends on the seed, the name, and how many
   * events had that name before.
   */
  later(name: string, delay: Delay, task: () => void): Cancel
  /** Has something happen after exactly that long. */
  after(name: string, ms: number, task: () => void): Cancel
  /** Makes the next event happen, and everything that follows from it at once. Undefined without one. */
  step(): Promise<string | undefined>
  /** How many events wait. */
  waiting(): number
  /** Their names. */
  names(): readonly string[]
}

export interface Delay {
  readonly least: number
  readonly most: number
}

export type Cancel = () => void

interface Entry {
  readonly at: number
  readonly number: number
  readonly name: string
  task: (() => void) | undefined
}

export function createScheduler(seed: string, start: number): Scheduler {
  const queue = createHeap()
  const counts = new Map<string, number>()
  let now = start
  let steps = 0
  let number = 0
  let cancelled = 0

  return {
    now: () => now,
    steps: () => steps,
    later(name, { least, most }, task) {
      const count = (counts.get(name) ?? 0) + 1
      counts.set(name, count)
      return add(name, choicesOf(seed, name, count).between(least, most), task)
    },
    after: add,
    async step() {
      for (let entry = queue.take(); entry; entry = queue.take()) {
        const { task } = entry
        if (!task) {
          cancelled--
          continue
        }
        now = Math.max(now, entry.at)
        steps++
        entry.task = undefined
        task()
        await settled()
        return entry.name
      }
      return undefined
    },
    waiting: () => queue.size() - cancelled,
    names: () => queue.entries.filter(({ task }) => task).map(({ name }) => name),
  }

  function add(name: string, ms: number, task: () => void): Cancel {
    const entry: Entry = { at: now + Math.max(0, ms), number: ++number, name, task }
    queue.add(entry)
    return () => {
      if (!entry.task) return
      entry.task = undefined
      cancelled++
    }
  }
}

/** The platform's own, as the global one is replaced while a world runs. */
const { setImmediate } = globalThis

/** Resolves when nothing else can happen: all microtasks have run, and none of them waits for anything real. */
export function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Entries by time; those of the same time in the order in which they were added. */
function createHeap() {
  const entries: Entry[] = []

  return {
    entries: entries as readonly Entry[],
    size: () => entries.length,
    add(entry: Entry): void {
      let at = entries.push(entry) - 1
      for (; at > 0; at = parentOf(at)) {
        const parent = entries[parentOf(at)] as Entry
        if (isBefore(parent, entry)) break
        entries[at] = parent
      }
      entries[at] = entry
    },
    take(): Entry | undefined {
      const first = entries[0]
      const last = entries.pop()
      if (!first || !last || entries.length === 0) return first
      let at = 0
      for (;;) {
        const child = firstChild(at)
        if (child === undefined || isBefore(last, entries[child] as Entry)) break
        entries[at] = entries[child] as Entry
        at = child
      }
      entries[at] = last
      return first
    },
  }

  function firstChild(at: number): number | undefined {
    const left = 2 * at + 1
    const [one, other] = [entries[left], entries[left + 1]]
    if (!one) return undefined
    return other && isBefore(other, one) ? left + 1 : left
  }
}

function parentOf(at: number): number {
  return (at - 1) >> 1
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.number < other.number)
}
