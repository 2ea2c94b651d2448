import { ensure } from '../violation.js'

export type KeyModel = ReturnType<typeof createKeyModel>
export type SavedKeys = ReadonlyMap<string, readonly Attempt[]>

/** A create that has stored its animal, or may have. */
interface Attempt {
  readonly name: string
  readonly expiresAt: number
  /** Number of times its animal has been stored, if this one has stored it. */
  readonly turn: number
  /** True once the clock has shown its end. */
  isOver: boolean
  isUnderWay: boolean
  /** Of the animal that the key names; unknown until an answer tells. */
  id: number | undefined
}

/**
 * Which animal each idempotency key names, as far as the answers tell. A key is in use until its time is
 * over. If the clock then goes back, it may be in use again or not: a storage drops keys that are over
 * whenever it likes.
 *
 * @param onFree called when an animal is stored with a key that named another one before
 */
export function createKeyModel(ttl: number, onFree: () => void) {
  let keys = new Map<string, Attempt[]>()
  /** The last turns of animals whose keys name others now. */
  const turns = new Map<string, number>()
  let era = 0

  return {
    /**
     * A create with a key has arrived.
     *
     * @param name stands for its animal
     * @param now the clock of the server
     */
    use(key: string, name: string, now: number) {
      for (const attempts of keys.values()) {
        for (const one of attempts) one.isOver ||= now >= one.expiresAt
      }
      const before = keys.get(key) ?? []
      const own = attemptOf(before, name, now)
      keys.set(key, [...before, own])
      return answersTo(key, own, holderOf(before), now)
    },
    /** Calls in progress will never be answered: the process is dead. */
    crash(): void {
      for (const one of [...keys.values()].flat()) one.isUnderWay = false
    },
    /** The keys that are surely in use, with their animals. */
    inUse(): ReadonlyMap<string, number> {
      const holders = [...keys].map(([key, attempts]) => [key, holderOf(attempts)?.id] as const)
      return new Map(holders.filter((pair): pair is [string, number] => pair[1] !== undefined))
    },
    save: (): SavedKeys =>
      copyOf(keys, ({ isUnderWay, ...one }) => ({ ...one, isUnderWay: false })),
    /** The keys are those of a snapshot now. */
    replace(saved: SavedKeys): void {
      era++
      const next = copyOf(saved, one => ({ ...one }))
      for (const [key, attempts] of keys) {
        const underWay = attempts.filter(one => one.isUnderWay)
        // The animal that another answer named may be gone.
        for (const one of underWay) one.id = undefined
        if (underWay.length > 0) next.set(key, [...(next.get(key) ?? []), ...underWay])
      }
      keys = next
    },
  }

  function attemptOf(before: readonly Attempt[], name: string, now: number): Attempt {
    const ended = before.filter(one => one.name === name && one.isOver).map(one => one.turn)
    const turn = 1 + Math.max(turns.get(name) ?? 0, ...ended)
    const expiresAt = now + ttl
    return { name, expiresAt, turn, isOver: false, isUnderWay: true, id: undefined }
  }

  /**
   * Each method is an answer to the create, and checks it.
   *
   * @param known whose animal the key surely named when this create arrived
   */
  function answersTo(key: string, own: Attempt, known: Attempt | undefined, now: number) {
    const begun = era
    const holder = () => (known?.isOver ? undefined : known)
    const { name, turn } = own
    const before = (keys.get(key) ?? []).filter(one => one !== own)
    // Those that arrive later may come first in another process.
    const possible = () =>
      [...new Set([...before, ...(keys.get(key) ?? [])])].filter(
        one => one !== own && now < one.expiresAt,
      )

    return {
      /** Number of times its animal may have been stored, if this create stores it. */
      most: turn,
      stored(id: number): void {
        own.isUnderWay = false
        // The restore may have come before or after it.
        if (era !== begun) return
        const message = () => `${name} was stored with the key of animal ${known?.id}`
        ensure(!holder(), 'response.true', message)
        own.id = id
        if (before.some(one => one.isOver && one.id !== undefined)) onFree()
        const later = keys.get(key)?.filter(one => one.id !== undefined && one.id > id) ?? []
        hold(key, later.length > 0 ? later : [own])
      },
      replayed(id: number): void {
        leave(key, own)
        if (era !== begun) return
        const same = possible().filter(one => one.name === name && (one.id ?? id) === id)
        const message = () => `${name} was answered with animal ${id}, which its key does not name`
        ensure(same.length > 0 && (holder()?.id ?? id) === id, 'response.true', message)
        for (const one of same) one.id = id
        hold(key, same)
      },
      reused(): void {
        leave(key, own)
        if (era !== begun) return
        const sure = holder()
        const others = sure ? [sure] : possible()
        const message = () => `${name} was refused, and its key names no other animal`
        const isOther = others.some(one => one.name !== name)
        ensure(isOther, 'response.true', message)
      },
      /** It stores nothing, now or later. */
      refused: () => leave(key, own),
    }
  }

  /** The key names the animal of these; what was before them has ended, or never stored anything. */
  function hold(key: string, holders: readonly Attempt[]): void {
    const attempts = keys.get(key) ?? []
    const kept = attempts.filter(one => one.isUnderWay || holders.includes(one))
    for (const one of attempts) {
      if (one.isOver && !kept.includes(one)) {
        turns.set(one.name, Math.max(turns.get(one.name) ?? 0, one.turn))
      }
    }
    keys.set(key, kept)
  }

  function leave(key: string, own: Attempt): void {
    own.isUnderWay = false
    keys.set(key, keys.get(key)?.filter(one => one !== own) ?? [])
  }
}

/** Whose animal the key surely names. */
function holderOf(attempts: readonly Attempt[]): Attempt | undefined {
  const known = attempts.filter(({ id }) => id !== undefined)
  return known.some(({ isOver }) => isOver) ? undefined : known[0]
}

function copyOf(keys: SavedKeys, copy: (attempt: Attempt) => Attempt): Map<string, Attempt[]> {
  return new Map([...keys].map(([key, attempts]) => [key, attempts.map(copy)]))
}
