export interface LogOptions {
  readonly capacity: number
  readonly characters: number
  /** Minimum number of items, whatever their size. */
  readonly least?: number
  /** The number before the first item, and the number of items dropped so far. */
  readonly begin?: { readonly last: number; readonly dropped: number }
}

/** Keeps the latest items, numbered in order of arrival. */
export function createLog<Item>(options: LogOptions) {
  const { capacity, characters, least = 0, begin = { last: 0, dropped: 0 } } = options
  let { last, dropped } = begin
  const items = new Map<number, { readonly item: Item; size: number }>()
  let total = 0

  return {
    first,
    last: () => last,
    dropped: () => dropped,
    add(item: Item, size: number): void {
      items.set(++last, { item, size })
      total += size
      trim()
    },
    /** Counts the growth of an item, which may have been dropped. */
    grow(n: number, by: number): void {
      const kept = items.get(n)
      if (!kept) return
      kept.size += by
      total += by
      trim()
    },
    find: (n: number): Item | undefined => items.get(n)?.item,
    /** Items after `n`, by default all that are kept, oldest first. */
    since: (n = 0): readonly Item[] =>
      [...items].flatMap(([at, { item }]) => (at > n ? [item] : [])),
    trim,
    /** Forgets all items and drops; numbering goes on. */
    clear(): void {
      items.clear()
      total = 0
      dropped = 0
    },
  }

  function first(): number {
    return last - items.size + 1
  }

  function trim(most = capacity): void {
    while (items.size > most || (items.size > least && total > characters)) {
      const oldest = first()
      total -= items.get(oldest)?.size ?? 0
      items.delete(oldest)
      dropped++
    }
  }
}

export const MOST_REMEMBERED = 1_000

/** Sets an entry as the most recent one, and forgets the oldest when there are too many. */
export function remember<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= MOST_REMEMBERED) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
