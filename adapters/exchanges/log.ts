export interface LogOptions {
  readonly capacity: number
  /** How large all items may be together. */
  readonly bytes: number
  /** How many it keeps at least, however large they are. */
  readonly least?: number
  /** The number before the first item, and how many were dropped until then. */
  readonly begin?: { readonly last: number; readonly dropped: number }
}

/** The latest items, numbered in the order in which they came. */
export interface Log<Item> {
  /** The number of the oldest item that is kept, */
  first(): number
  /** and of the latest item. */
  last(): number
  dropped(): number
  add(item: Item, size: number): void
  /** An item has become larger. It may have been dropped. */
  grow(n: number, by: number): void
  find(n: number): Item | undefined
  /** Those after `n`, by default all that are kept, oldest first. */
  since(n?: number): readonly Item[]
  /** Drops the oldest until at most `most` are kept. */
  trim(most: number): void
  /** Also forgets how many were dropped; the numbers go on. */
  clear(): void
}

export function createLog<Item>(options: LogOptions): Log<Item> {
  const { capacity, bytes, least = 0, begin = { last: 0, dropped: 0 } } = options
  // A ring: the item `n` is at `slotOf(n)`.
  const items: (Item | undefined)[] = []
  const sizes: number[] = []
  let { last, dropped } = begin
  let count = 0
  let size = 0

  return {
    first,
    last: () => last,
    dropped: () => dropped,
    add(item, itemSize) {
      if (count === capacity) drop()
      last++
      count++
      items[slotOf(last)] = item
      sizes[slotOf(last)] = itemSize
      size += itemSize
      dropOldest()
    },
    grow(n, by) {
      if (!isKept(n)) return
      const slot = slotOf(n)
      sizes[slot] = (sizes[slot] ?? 0) + by
      size += by
      dropOldest()
    },
    find: n => (isKept(n) ? items[slotOf(n)] : undefined),
    since(n = Number.NEGATIVE_INFINITY) {
      const start = Math.max(first(), n + 1)
      const found: Item[] = []
      for (let n = start; n <= last; n++) found.push(items[slotOf(n)] as Item)
      return found
    },
    trim(most) {
      while (count > most) drop()
    },
    clear() {
      items.fill(undefined)
      count = 0
      size = 0
      dropped = 0
    },
  }

  function first(): number {
    return last - count + 1
  }

  function isKept(n: number): boolean {
    return n >= first() && n <= last
  }

  function slotOf(n: number): number {
    return (n - begin.last - 1) % capacity
  }

  function dropOldest(): void {
    while (count > least && size > bytes) drop()
  }

  function drop(): void {
    const slot = slotOf(first())
    size -= sizes[slot] ?? 0
    items[slot] = undefined
    count--
    dropped++
  }
}
