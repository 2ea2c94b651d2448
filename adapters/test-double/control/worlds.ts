import type { ApiKey } from '../../../src/api-keys.js'
import { ApiError } from '../../../src/errors.js'
import { BASE_PATH } from '../../../src/specification.js'
import { DEMO_KEYS } from '../../demo-keys.js'
import { createDouble, type TestDouble } from '../double.js'
import type { TestDoubleOptions } from '../options.js'

/** Where a world is, and the keys that are valid in it and nowhere else. */
export interface World {
  readonly id: string
  readonly baseUrl: string
  readonly controlUrl: string
  readonly apiKeys: Readonly<Record<string, string>>
}

/** Doubles that share one port and nothing else. */
export interface Worlds {
  /** @throws ApiError 409 when there are too many */
  create(origin: string): World
  find(id: string): TestDouble | undefined
  /** False when there was none. */
  dispose(id: string): boolean
}

const MOST = 1_000

export function createWorlds(options: TestDoubleOptions): Worlds {
  const worlds = new Map<string, TestDouble>()
  let created = 0

  return {
    create(origin) {
      if (worlds.size >= MOST) {
        throw new ApiError('invalid_request', `There are ${MOST} worlds already; delete some.`, {
          status: 409,
        })
      }
      const id = `w${++created}`
      const path = `/worlds/${id}`
      const keys = Object.values(DEMO_KEYS).map(
        ({ plan, ...record }) => [`${id}-${plan}`, { ...record, id: plan, plan }] as const,
      )
      const apiKeys: Record<string, ApiKey> = Object.fromEntries(keys)
      const baseUrl = `http://adoption-store.test${path}${BASE_PATH}`
      worlds.set(id, createDouble({ ...options, apiKeys, baseUrl }))
      return {
        id,
        baseUrl: `${origin}${path}${BASE_PATH}`,
        controlUrl: `${origin}${path}/_control`,
        apiKeys: Object.fromEntries(keys.map(([key, { plan }]) => [plan, key])),
      }
    },
    find: id => worlds.get(id),
    dispose(id) {
      void worlds.get(id)?.close()
      return worlds.delete(id)
    },
  }
}
