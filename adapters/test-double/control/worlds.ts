import { ApiError } from '../../../src/api-error.js'
import type { Instant } from '../../../src/lib/time.js'
import { BASE_PATH } from '../../../src/pets/specification.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import type { StoreOptions } from '../../../src/store.js'
import { DEMO_KEYS } from '../demo-keys.js'
import { createDouble, type JudgedDouble } from '../double.js'
import type { TestDoubleOptions } from '../double-options.js'

export interface WorldOptions {
  /** Replaces the animals that all worlds begin with. */
  readonly pets?: TestDoubleOptions['pets']
  /** Replaces `pets`, for a replayed world. */
  readonly snapshot?: TestDoubleOptions['snapshot']
  /** Replaces `<id of the world>-<plan>` for each plan. */
  readonly apiKeys?: StoreOptions['apiKeys'] | undefined
  readonly time?: Instant | undefined
}

export interface OpenWorld {
  readonly double: JudgedDouble
  readonly apiKeys: StoreOptions['apiKeys']
}

export type Worlds = ReturnType<typeof createWorlds>

const MOST = 1_000

/** Doubles that share only a port. Their verdicts and events are also those of the double above. */
export function createWorlds(
  options: TestDoubleOptions,
  { verdict, events, clock }: Pick<JudgedDouble, 'verdict' | 'events' | 'clock'>,
) {
  const worlds = new Map<string, OpenWorld>()
  let created = 0

  return {
    /** @throws ApiError 409 for too many worlds, OptionError */
    async create(
      { origin, token }: { readonly origin: string; readonly token: string },
      { pets, snapshot, apiKeys: given, time }: WorldOptions = {},
    ) {
      if (worlds.size >= MOST) {
        throw new ApiError('invalid_request', `There are ${MOST} worlds already; delete some.`, {
          status: 409,
        })
      }
      const id = `w${created + 1}`
      const path = `/worlds/${id}`
      const apiKeys = given ?? keysOf(id)
      const baseUrl = `http://adoption-store.test${path}${BASE_PATH}`
      const worldOptions = {
        ...options,
        apiKeys,
        baseUrl,
        ...((pets ?? snapshot) && { pets, snapshot }),
        ...(time !== undefined && { time }),
      }
      const above = { verdict, events, world: id }
      const double = createDouble(worldOptions, undefined, above, undefined, clock.source)
      worlds.set(id, { double, apiKeys })
      const begin = double.state().observe()
      double.tell({ do: 'world', snapshot: { pets: begin.pets, nextId: begin.nextId }, time })
      created++
      events.worlds++
      return {
        id,
        baseUrl: `${origin}${path}${BASE_PATH}`,
        controlUrl: `${origin}${path}/_control/${token}`,
        /** Keys by their ids. */
        apiKeys: Object.fromEntries(
          Object.entries(apiKeys).map(([key, record]) => [record.id, key]),
        ),
      }
    },
    open: worlds as ReadonlyMap<string, OpenWorld>,
    find: (id: string) => worlds.get(id)?.double,
    /** @returns false for an unknown id */
    dispose(id: string): boolean {
      const world = worlds.get(id)
      if (!world) return false
      void world.double.close()
      world.double.tell({ do: 'end-world' })
      return worlds.delete(id)
    },
    endDelays() {
      for (const { double } of worlds.values()) double.endDelays()
    },
  }
}

function keysOf(id: string): Readonly<Record<string, ApiKey>> {
  const keys = Object.values(DEMO_KEYS).map(
    key => [`${id}-${key.plan}`, { ...key, id: key.plan }] as const,
  )
  return Object.fromEntries(keys)
}
