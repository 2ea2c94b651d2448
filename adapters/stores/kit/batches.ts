import { channel } from 'node:diagnostics_channel'
import { callerGone } from '../../../src/api-error.js'
import type { IsGone } from '../../../src/ports.js'
import { setImmediate } from '../../platform.js'

export interface BatchLimits<Item> {
  readonly items: number
  /** A single item may exceed it. */
  readonly size: number
  readonly sizeOf: (item: Item) => number
  /** Names the queue on the diagnostics channel `animal-adoption-store.batch`. */
  readonly name: string
  /** By default, items wait for as long as it takes. */
  readonly queue?: QueueLimits
}

export interface QueueLimits {
  /** From arrival until the item is in a batch; a later item never will be. */
  readonly timeoutMs: number
  readonly items: number
  readonly late: () => Error
  readonly full: () => Error
}

export interface BatchMessage {
  readonly name: string
  readonly items: number
  /** Items still queued when this batch began. */
  readonly left: number
  /** Of the oldest item. */
  readonly waitMs: number
  readonly durationMs: number
}

const BATCHES = channel('animal-adoption-store.batch')

export interface Waiting<Item, Answer> {
  readonly item: Item
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
  /** Time of arrival, in ms of `performance.now`; 0 while nothing measures it. */
  readonly since: number
  readonly isGone: IsGone | undefined
  /** Rejected already: late, or its caller has gone. */
  isDropped: boolean
}

/**
 * Groups items: while one batch is in progress, new items form the next one.
 * @param run settles every item; if it throws or rejects, the rest are rejected with its error
 */
export function createBatches<Item, Answer>(
  run: (batch: readonly Waiting<Item, Answer>[]) => Promise<void> | void,
  limits: BatchLimits<Item>,
) {
  const { queue } = limits
  let waiting: Waiting<Item, Answer>[] = []
  let sent: readonly Waiting<Item, Answer>[] = []
  let working: Promise<void> | undefined
  /** Items that may go first between two turns of the event loop, and the rest of them. */
  let trust = 0
  let first = 0
  let isNextRow = true
  let timer: NodeJS.Timeout | undefined

  return {
    /**
     * Allows an item to run at once, because a turn of the event loop costs a tenth of a synchronous
     * insert: its caller seems to be alone, and a microtask has passed since another item.
     */
    mayGoFirst(): boolean {
      if (first === 0 || !isNextRow || working) return false
      // Waits are measured.
      if (BATCHES.hasSubscribers) return false
      first--
      isNextRow = false
      MICROTASK.then(endRow)
      return true
    },
    /** @param isGone drops the item if it returns true when the batch is formed */
    add: (item: Item, isGone?: IsGone) =>
      new Promise<Answer>((resolve, reject) => {
        if (queue && waiting.length >= queue.items) throw queue.full()
        const since = queue || BATCHES.hasSubscribers ? performance.now() : 0
        waiting.push({ item, resolve, reject, since, isGone, isDropped: false })
        // The batch in progress may hang, with no item left to fire its timer.
        if (queue && sent.length > 0) timer ??= setTimeout(rejectLate, queue.timeoutMs, queue)
        working ??= work()
      }),
    idle: async () => working,
  }

  function endRow(): void {
    isNextRow = true
  }

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      // Callers of the previous batch are about to add their next items.
      await new Promise(setImmediate)
      sent = stillWaited(takeBatch())
      if (sent.length === 0) continue
      const start = BATCHES.hasSubscribers ? performance.now() : 0
      const left = waiting.length
      const settled = settle(sent)
      trust = settled || sent.length > 1 ? 0 : Math.min(Math.max(1, 2 * trust), MOST_TRUST)
      first = trust
      // No pause otherwise: a lone caller, who comes back now, can go first.
      if (settled) {
        if (queue) timer ??= setTimeout(rejectLate, queue.timeoutMs, queue)
        await settled
      }
      if (start > 0) publish(sent, start, left)
      sent = []
    }
    working = undefined
    clearTimeout(timer)
    timer = undefined
  }

  async function rejectLate({
    timeoutMs,
    late,
  }: Pick<QueueLimits, 'timeoutMs' | 'late'>): Promise<void> {
    // Two turns of the loop read an answer that has arrived while this process was busy.
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    const end = performance.now() - timeoutMs
    const isLate = ({ since }: Waiting<Item, Answer>) => since <= end
    for (const one of [...sent, ...waiting].filter(isLate)) drop(one, late())
    waiting = waiting.filter(one => !isLate(one))
    // Oldest item that is not late: running batch first, then the queue.
    const next = [...sent, ...waiting].find(one => !isLate(one))
    // Meanwhile `work` may have ended, and the next item started a timer.
    clearTimeout(timer)
    timer = next && setTimeout(rejectLate, Math.ceil(next.since - end), { timeoutMs, late })
  }

  function settle(batch: readonly Waiting<Item, Answer>[]): Promise<void> | void {
    const rejectAll = (error: unknown) => {
      for (const { reject } of batch) reject(error)
    }
    try {
      return run(batch)?.catch(rejectAll)
    } catch (error) {
      rejectAll(error)
    }
  }

  function publish(batch: readonly Waiting<Item, Answer>[], start: number, left: number): void {
    const { since } = batch[0] as Waiting<Item, Answer>
    const times = { waitMs: since === 0 ? 0 : start - since, durationMs: performance.now() - start }
    const message: BatchMessage = { name: limits.name, items: batch.length, left, ...times }
    BATCHES.publish(message)
  }

  function takeBatch(): Waiting<Item, Answer>[] {
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

const MICROTASK = Promise.resolve()

/** Turns with a lone caller double the trust, any other ends it: a wrong guess costs two commits. */
const MOST_TRUST = 64

/** Drops the items of a batch whose callers have gone. */
export function stillWaited<Item, Answer>(
  batch: readonly Waiting<Item, Answer>[],
): readonly Waiting<Item, Answer>[] {
  for (const one of batch) if (!one.isDropped && one.isGone?.()) drop(one, callerGone())
  return batch.some(isDropped) ? batch.filter(one => !isDropped(one)) : batch
}

function drop<Item, Answer>(one: Waiting<Item, Answer>, error: Error): void {
  one.isDropped = true
  one.reject(error)
}

function isDropped(one: { readonly isDropped: boolean }): boolean {
  return one.isDropped
}

/** A `run` that answers a whole batch at once, with one answer per item, in order. */
export function answerAll<Item, Answer>(
  answer: (items: readonly Item[]) => Promise<readonly Answer[]>,
): (batch: readonly Waiting<Item, Answer>[]) => Promise<void> {
  return async batch => {
    const answers = await answer(batch.map(({ item }) => item))
    for (const [at, { resolve }] of batch.entries()) resolve(answers[at] as Answer)
  }
}
