/** Groups items: while one batch is in progress, new items form the next one. */
export interface Batches<Item, Answer> {
  add(item: Item): Promise<Answer>
  /** Resolves when no item is left. */
  idle(): Promise<void>
}

export interface BatchLimits<Item> {
  readonly items: number
  /** The total size of a batch; a single item may exceed it. */
  readonly size: number
  readonly sizeOf: (item: Item) => number
}

/** @param run resolves with one answer per item, in order */
export function createBatches<Item, Answer>(
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  limits: BatchLimits<Item>,
): Batches<Item, Answer> {
  let waiting: Pending<Item, Answer>[] = []
  let working: Promise<void> | undefined

  return {
    add: item =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject })
        working ??= work()
      }),
    idle: async () => working,
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      // Callers of the previous batch are about to add their next items.
      await new Promise(setImmediate)
      const batch = takeBatch()
      try {
        const answers = await run(batch.map(({ item }) => item))
        for (const [at, { resolve }] of batch.entries()) resolve(answers[at] as Answer)
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    working = undefined
  }

  function takeBatch(): Pending<Item, Answer>[] {
    let count = 0
    let size = 0
    for (const { item } of waiting) {
      size += limits.sizeOf(item)
      if (count === limits.items || (count > 0 && size > limits.size)) break
      count++
    }
    const batch = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return batch
  }
}

interface Pending<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}
