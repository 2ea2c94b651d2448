/** Asks many questions at once: one batch is under way at a time, later questions form the next. */
export interface Batches<Item, Answer> {
  ask(item: Item): Promise<Answer>
  /** Resolves when nothing is under way any more. */
  idle(): Promise<void>
}

export interface BatchLimits<Item> {
  readonly items: number
  /** Of a batch of several items; a single item may be larger. */
  readonly size: number
  readonly sizeOf: (item: Item) => number
}

/** @param run gives an answer per item, in their order */
export function createBatches<Item, Answer>(
  run: (items: readonly Item[]) => Promise<readonly Answer[]>,
  limits: BatchLimits<Item>,
): Batches<Item, Answer> {
  let waiting: Question<Item, Answer>[] = []
  let working: Promise<void> | undefined

  return {
    ask: item =>
      new Promise((resolve, reject) => {
        waiting.push({ item, resolve, reject })
        working ??= work()
      }),
    idle: async () => working,
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      // The callers of the batch before are on their way with their next questions.
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

  function takeBatch(): Question<Item, Answer>[] {
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

interface Question<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}
