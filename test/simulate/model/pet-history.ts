import { ensure } from '../violation.js'

/** A stored animal as it was seen; its text is all of it but the id. */
export interface SeenPet {
  readonly id: number
  readonly name: string
  readonly text: string
  readonly status?: string | undefined
}

export interface ListQuery {
  readonly limit: number
  readonly status?: string | undefined
  readonly after?: number | undefined
}

/** A create, with all of its attempts. */
interface Create {
  readonly text: string
  readonly ids: Set<number>
  /** Attempts whose effect is still open, and those that have stored it. */
  open: number
  stored: number
  /** For creates with a key: how often it may be stored. */
  most: number | undefined
  /** The state when the first of the open attempts began. */
  since: number
}

export type PetHistory = ReturnType<typeof createPetHistory>

/**
 * Everything that was asked of a store and answered, checked while it happens: whether there is an order
 * of all operations, each between its begin and its end, in which a store of one operation at a time
 * gives the same answers (linearizability; Herlihy and Wing 1990).
 *
 * Deciding that takes exponential time in general. Here ids ascend in the order in which animals become
 * visible, so a state of the store is one number, the highest id, which only grows. An operation sees at
 * least what operations that ended before its begin have seen: the lowest number that explains an answer
 * is the best choice, and each answer is checked once. `pet-history.test.ts` compares that with a search
 * through all orders.
 */
export function createPetHistory() {
  const creates = new Map<string, Create>()
  let pets = new Map<number, SeenPet>()
  let floor = 0
  /** The lowest id that is given to a new animal: from here on, there are no gaps. */
  let firstNew = 1
  let era = 0

  return {
    get pets(): ReadonlyMap<number, SeenPet> {
      return pets
    },
    /** The state that everybody has seen at least. */
    get floor() {
      return floor
    },
    create,
    read,
    /** Calls in progress will never end: the process is dead. */
    crash(): void {
      era++
    },
    /**
     * A store has been opened, or replaced as a whole; nothing was under way. What was stored before is
     * still there.
     */
    reopen(found: readonly SeenPet[], nextId: number): void {
      era++
      const present = new Map(found.map(pet => [pet.id, pet]))
      for (const pet of pets.values()) ensureSame(pet, present.get(pet.id), 'after reopening')
      for (const pet of found) learn(pet)
      ensureAscending(found)
      const fresh = found.filter(({ id }) => id >= firstNew).length
      const message = () => `next id ${nextId} with ${fresh} animals from ${firstNew} on`
      ensure(nextId === firstNew + fresh, 'ids.ascending', message)
      begin(nextId)
    },
    /**
     * Everything is replaced by the content of a snapshot; operations under way see either.
     *
     * @param nextId the next id of the snapshot
     */
    replace(found: readonly SeenPet[], snapshot: readonly SeenPet[], nextId: number): void {
      era++
      const present = new Map(found.map(pet => [pet.id, pet]))
      for (const pet of snapshot) ensureSame(pet, present.get(pet.id), 'after the restore')
      const restored = new Set(snapshot.map(({ id }) => id))
      pets = new Map(snapshot.map(pet => [pet.id, pet]))
      for (const one of creates.values()) {
        one.ids.clear()
        one.stored = 0
        one.since = 0
      }
      for (const { id, name } of snapshot) {
        const one = creates.get(name)
        if (!one) continue
        one.ids.add(id)
        one.stored++
      }
      firstNew = nextId
      floor = 0
      for (const pet of found) if (!restored.has(pet.id)) learn(pet)
      ensureAscending(found)
      floor = Math.max(nextId - 1, ...found.map(({ id }) => id))
    },
  }

  /** Nothing is under way, and everything that is stored is known. */
  function begin(nextId: number): void {
    firstNew = nextId
    floor = nextId - 1
    for (const one of creates.values()) {
      one.open = 0
      one.stored = one.ids.size
    }
  }

  /**
   * A create is sent.
   *
   * @param name stands for the animal, however often it is sent
   * @param text what is stored if it is, without the id
   * @param most how often it is stored at most, because of its key
   */
  function create(name: string, text: string, most?: number) {
    const known = creates.get(name)
    const one: Create = known ?? { text, ids: new Set(), open: 0, stored: 0, most, since: 0 }
    creates.set(name, one)
    if (most !== undefined) one.most = Math.max(one.most ?? 0, most)
    if (one.open === 0) one.since = floor
    one.open++
    const [since, own] = [floor, era]
    return {
      /** @param replayed whether the answer says that it had been stored before */
      stored(pet: SeenPet, replayed = false): void {
        const message = () => `create of ${name} answered with ${pet.text}`
        ensure(pet.name === name && pet.text === text, 'response.true', message)
        // It began before a restore or a crash, which may have removed what it stored.
        if (own !== era) return
        const late = () => `a create that began after animal ${since} got the id ${pet.id}`
        ensure(replayed || pet.id > since, 'reads.linearizable', late)
        learn(pet)
        one.open--
        if (!replayed) one.stored++
        ensureCount(name, one)
        floor = Math.max(floor, pet.id)
      },
      /** It stores nothing, now or later. */
      refused(): void {
        if (own !== era) return
        one.open--
        ensureCount(name, one)
      },
      /** The answer is lost: it may be stored, now or later. */
      lost() {},
    }
  }

  function read() {
    const [since, own] = [floor, era]
    return {
      /** @returns whether there certainly are more; undefined where that is unknown */
      listed(query: ListQuery, found: readonly SeenPet[]): boolean | undefined {
        if (own !== era) return undefined
        list(query, found, since)
        const { status } = query
        const last = found.at(-1)?.id ?? 0
        if (found.length < query.limit) return false
        const isMore = (pet: SeenPet) => pet.id > last && pet.id <= since
        return [...pets.values()].some(pet => isMore(pet) && (status ?? pet.status) === pet.status)
      },
      got(id: number, pet: SeenPet | undefined): void {
        if (own !== era) return
        if (!pet) {
          const missing = pets.get(id)
          const message = () => `animal ${id} is not found, and ${since} was visible before`
          ensure(id > since || (!missing && id < firstNew), 'animals.kept', message)
          return
        }
        ensure(pet.id === id, 'response.true', () => `animal ${pet.id} came for ${id}`)
        learn(pet)
        floor = Math.max(floor, id)
      },
    }
  }

  function list(query: ListQuery, found: readonly SeenPet[], since: number): void {
    const { limit, status, after = 0 } = query
    ensureAscending(found)
    ensure(found.length <= limit, 'response.true', () => `${found.length} animals for ${limit}`)
    for (const pet of found) {
      ensure(pet.id > after, 'response.true', () => `animal ${pet.id} is not after ${after}`)
      const isAsked = status === undefined || pet.status === status
      ensure(isAsked, 'response.true', () => `animal ${pet.id} is ${pet.status}, not ${status}`)
      learn(pet)
    }
    const last = found.at(-1)?.id ?? 0
    const isFull = found.length === limit
    // Everything up to here is visible, and in the answer if it was asked for.
    const end = isFull ? last : Math.max(last, since)
    const present = new Set(found.map(({ id }) => id))
    for (let id = after + 1; id <= end; id++) {
      if (present.has(id)) continue
      const pet = pets.get(id)
      const isHidden = pet ? status !== undefined && pet.status !== status : id < firstNew
      const message = () => `a list up to animal ${end} lacks animal ${id}`
      ensure(isHidden || (!pet && status !== undefined), 'reads.linearizable', message)
    }
    floor = Math.max(floor, last)
  }

  /** An animal is stored, as it turns out. */
  function learn(pet: SeenPet): void {
    const known = pets.get(pet.id)
    if (known) {
      ensureSame(known, pet, 'now')
      return
    }
    const one = creates.get(pet.name)
    if (!one) {
      ensure(false, 'animals.once', () => `animal ${pet.id} was never sent: ${pet.text}`)
      return
    }
    const { id, text } = pet
    ensure(text === one.text, 'animals.kept', () => `animal ${id} is ${text}, not ${one.text}`)
    const late = () => `animal ${id} appears, and all below ${firstNew} were known`
    ensure(id >= firstNew, 'ids.ascending', late)
    const early = () => `animal ${id} was sent after animal ${one.since} was visible`
    ensure(id > one.since, 'reads.linearizable', early)
    pets.set(id, pet)
    one.ids.add(id)
    ensureCount(pet.name, one)
  }

  function ensureCount(name: string, { ids, open, stored, most = stored + open }: Create): void {
    const message = () => `${name} is stored as ${[...ids].join(' and ')}, ${most} times at most`
    ensure(ids.size <= most, 'animals.once', message)
  }
}

function ensureSame(known: SeenPet, found: SeenPet | undefined, when: string): void {
  const { id, text } = known
  const message = () => `animal ${id} was ${text}, and is ${found?.text ?? 'missing'} ${when}`
  ensure(found?.text === text, 'animals.kept', message)
}

function ensureAscending(pets: readonly SeenPet[]): void {
  for (const [at, { id }] of pets.entries()) {
    const before = pets[at - 1]?.id ?? 0
    ensure(id > before, 'ids.ascending', () => `animal ${id} follows ${before}`)
  }
}
