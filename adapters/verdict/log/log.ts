export interface LogOptions {
  readonly capacity: number
  /** How large all items may be together. */
  readonly characters: number
  /** How many it keeps at least, however large they are. */
  readonly least?: number
  /** The number before the first item, and how many were dropped until then. */
  readonly begin?: { readonly last: number; readonly dropped: number }
}

export type Log<Item> = ReturnType<typeof createLog<Item>>

/** The latest items, numbered in the order in which they came. */
export function createLog<Item>(options: LogOptions) {
  const { capacity, characters, least = 0, begin = { last: 0, dropped: 0 } } = options
  let { last, dropped } = begin
  // Dropped items stay in front until there are as many as fit.
  let items: (Item | undefined)[] = []
  let sizes: number[] = []
  let head = 0
  let total = 0

  return {
    /** The number of the oldest item that is kept, */
    first,
    /** and of the latest item. */
    last: () => last,
    dropped: () => dropped,
    add(item: Item, size: number): void {
      last++
      items.push(item)
      sizes.push(size)
      total += size
      drop()
    },
    /** An item has become larger. It may have been dropped. */
    grow(n: number, by: number): void {
      if (n < first() || n > last) return
      const at = head + n - first()
      sizes[at] = (sizes[at] ?? 0) + by
      total += by
      drop()
    },
    find: (n: number): Item | undefined => (n < first() ? undefined : items[head + n - first()]),
    /** Those after `n`, by default all that are kept, oldest first. */
    since: (n = 0): readonly Item[] =>
      items.slice(head + Math.max(0, n + 1 - first())) as readonly Item[],
    /** Drops the oldest until at most `most` are kept. */
    trim: (most: number): void => drop(most),
    /** Also forgets how many were dropped; the numbers go on. */
    clear(): void {
      items = []
      sizes = []
      head = 0
      total = 0
      dropped = 0
    },
  }

  function first(): number {
    return last - (items.length - head) + 1
  }

  function drop(most = capacity): void {
    let count = items.length - head
    for (; count > most || (count > least && total > characters); count--) {
      total -= sizes[head] ?? 0
      items[head++] = undefined
      dropped++
    }
    if (head < capacity) return
    items = items.slice(head)
    sizes = sizes.slice(head)
    head = 0
  }
}
