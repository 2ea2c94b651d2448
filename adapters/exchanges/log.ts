export interface LogOptions {
  readonly capacity: number
  /** How large all items may be together. */
  readonly bytes: number
  /** How many it keeps at least, however large they are. */
  readonly least?: number
  /** The number before the first item, and how many were dropped until then. */
  readonly begin?: { readonly last: number; readonly dropped: number }
}

export type Log<Item> = ReturnType<typeof createLog<Item>>

/** The latest items, numbered in the order in which they came. */
export function createLog<Item>(options: LogOptions) {
  const { capacity, bytes, least = 0, begin = { last: 0, dropped: 0 } } = options
  const kept = new Map<number, { readonly item: Item; size: number }>()
  let { last, dropped } = begin
  let total = 0

  return {
    /** The number of the oldest item that is kept, */
    first,
    /** and of the latest item. */
    last: () => last,
    dropped: () => dropped,
    add(item: Item, size: number): void {
      kept.set(++last, { item, size })
      total += size
      drop()
    },
    /** An item has become larger. It may have been dropped. */
    grow(n: number, by: number): void {
      const one = kept.get(n)
      if (!one) return
      one.size += by
      total += by
      drop()
    },
    find: (n: number): Item | undefined => kept.get(n)?.item,
    /** Those after `n`, by default all that are kept, oldest first. */
    since(n = 0): readonly Item[] {
      const found: Item[] = []
      for (let at = Math.max(first(), n + 1); at <= last; at++) {
        found.push((kept.get(at) as { item: Item }).item)
      }
      return found
    },
    /** Drops the oldest until at most `most` are kept. */
    trim: (most: number): void => drop(most),
    /** Also forgets how many were dropped; the numbers go on. */
    clear(): void {
      kept.clear()
      total = 0
      dropped = 0
    },
  }

  function first(): number {
    return last - kept.size + 1
  }

  function drop(most = capacity): void {
    while (kept.size > most || (kept.size > least && total > bytes)) {
      const oldest = first()
      total -= kept.get(oldest)?.size ?? 0
      kept.delete(oldest)
      dropped++
    }
  }
}
