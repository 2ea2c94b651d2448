/** First in, first out. Every method takes constant time, also the removal of an item in the middle. */
export interface Queue<T> {
  readonly size: number
  /** Returns a function that removes the item; it does nothing once the item is gone. */
  push(item: T): () => void
  /** Like `push`, ahead of all others. */
  pushFirst(item: T): () => void
  shift(): T | undefined
}

interface Link<T> {
  item: T | undefined
  before: Link<T>
  after: Link<T>
}

export function createQueue<T>(): Queue<T> {
  /** Between the last and the first. */
  const ends = { item: undefined } as Link<T>
  ends.before = ends
  ends.after = ends
  let size = 0

  return {
    get size() {
      return size
    },
    push: item => insert(item, ends.before, ends),
    pushFirst: item => insert(item, ends, ends.after),
    shift() {
      const { item } = ends.after
      if (item !== undefined) remove(ends.after)
      return item
    },
  }

  function insert(item: T, before: Link<T>, after: Link<T>): () => void {
    const link: Link<T> = { item, before, after }
    before.after = link
    after.before = link
    size++
    return () => remove(link)
  }

  function remove(link: Link<T>): void {
    if (link.item === undefined) return
    link.item = undefined
    link.before.after = link.after
    link.after.before = link.before
    size--
  }
}
