import { choicesOf } from './random.js'

export interface Delay {
  readonly least: number
  readonly most: number
}

export type Cancel = () => void

interface Entry {
  readonly at: number
  readonly name: string
  /** Its result is awaited: it may need real time. */
  readonly task: () => unknown
}

export type Scheduler = ReturnType<typeof createScheduler>

/**
 * Virtual time. Whatever happens later, a message that arrives, a call to the disk that ends, a timer, is
 * an event of one queue; nothing happens between two of them.
 */
export function createScheduler(seed: string, start: number) {
  /** By time, the next at the end; those of the same time in the order in which they were added. */
  const queue: Entry[] = []
  const counts = new Map<string, number>()
  let now = start
  let steps = 0

  return {
    /** In ms since the epoch, with fractions. */
    now: () => now,
    steps: () => steps,
    /**
     * Has something happen after a random delay. The delay depends on the seed, the name, and how many
     * events had that name before.
     */
    later(name: string, { least, most }: Delay, task: Entry['task']): Cancel {
      const count = (counts.get(name) ?? 0) + 1
      counts.set(name, count)
      return add(name, choicesOf(seed, name, count).between(least, most), task)
    },
    /** Has something happen after exactly that long. */
    after: add,
    /** Makes the next event happen, and everything that follows from it at once. Undefined without one. */
    async step(): Promise<string | undefined> {
      const entry = queue.pop()
      if (!entry) return undefined
      now = Math.max(now, entry.at)
      steps++
      await entry.task()
      await settled()
      return entry.name
    },
    waiting: () => queue.length,
    /** Their names. */
    names: () => queue.map(({ name }) => name),
  }

  function add(name: string, ms: number, task: Entry['task']): Cancel {
    const entry: Entry = { at: now + Math.max(0, ms), name, task }
    let [low, high] = [0, queue.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((queue[middle] as Entry).at > entry.at) low = middle + 1
      else high = middle
    }
    queue.splice(low, 0, entry)
    return () => {
      const at = queue.indexOf(entry)
      if (at >= 0) queue.splice(at, 1)
    }
  }
}

/** The platform's own, as the global one is replaced while a world runs. */
const { setImmediate } = globalThis

/** Resolves when nothing else can happen: all microtasks have run, and none of them waits for anything real. */
export function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
