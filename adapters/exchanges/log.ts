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
  /** Also forgets how many were dropped; the numbers go on. */
  clear(): void
}

export function createLog<Item>(options: LogOptions): Log<Item> {
  const { capacity, bytes, least = 0, begin = { last: 0, dropped: 0 } } = options
  const kept: { readonly item: Item; size: number }[] = []
  let { last, dropped } = begin
  let size = 0

  return {
    first: () => last - kept.length + 1,
    last: () => last,
    dropped: () => dropped,
    add(item, itemSize) {
      kept.push({ item, size: itemSize })
      last++
      size += itemSize
      dropOldest()
    },
    grow(n, by) {
      const one = kept[indexOf(n)]
      if (!one) return
      one.size += by
      size += by
      dropOldest()
    },
    find: n => kept[indexOf(n)]?.item,
    since: (n = Number.NEGATIVE_INFINITY) =>
      kept.slice(Math.max(0, indexOf(n) + 1)).map(({ item }) => item),
    clear() {
      kept.length = 0
      size = 0
      dropped = 0
    },
  }

  function indexOf(n: number): number {
    return n - last + kept.length - 1
  }

  function dropOldest(): void {
    while (kept.length > least && (kept.length > capacity || size > bytes)) {
      size -= kept.shift()?.size ?? 0
      dropped++
    }
  }
}
