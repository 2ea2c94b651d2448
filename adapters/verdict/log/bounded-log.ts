export interface LogOptions {
  readonly capacity: number
  /** Maximum size of all items together. */
  readonly characters: number
  /** Minimum number of items, whatever their size. */
  readonly least?: number
  /** The number before the first item, and the number of items dropped so far. */
  readonly begin?: { readonly last: number; readonly dropped: number }
}

export type Log<Item> = ReturnType<typeof createLog<Item>>

/** Keeps the latest items, numbered in order of arrival. */
export function createLog<Item>(options: LogOptions) {
  const { capacity, characters, least = 0, begin = { last: 0, dropped: 0 } } = options
  let { last, dropped } = begin
  // Dropped items stay in front until `capacity` of them have piled up.
  let items: (Item | undefined)[] = []
  let sizes: number[] = []
  let head = 0
  let total = 0

  return {
    /** Number of the oldest item kept. */
    first,
    last: () => last,
    dropped: () => dropped,
    add(item: Item, size: number): void {
      last++
      items.push(item)
      sizes.push(size)
      total += size
      drop()
    },
    /** Counts the growth of an item, which may have been dropped. */
    grow(n: number, by: number): void {
      if (n < first() || n > last) return
      const at = head + n - first()
      sizes[at] = (sizes[at] ?? 0) + by
      total += by
      drop()
    },
    find: (n: number): Item | undefined => (n < first() ? undefined : items[head + n - first()]),
    /** Items after `n`, by default all that are kept, oldest first. */
    since: (n = 0): readonly Item[] =>
      items.slice(head + Math.max(0, n + 1 - first())) as readonly Item[],
    /** Drops the oldest until at most `most` are kept. */
    trim: (most: number): void => drop(most),
    /** Forgets all items and drops; numbering goes on. */
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
