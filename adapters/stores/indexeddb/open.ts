import {
  check,
  isText,
  type OptionsOf,
  settingsOf,
  withDefault,
} from '../../../src/lib/check-options.js'
import { isTimeout } from '../../../src/lib/time.js'
import { durableStorage } from '../kit/durable-storage.js'
import { openAtUse } from '../kit/open-at-use.js'
import { connect } from './connection.js'
import { IndexedDbError } from './failures.js'
import { createRateLimits, type IndexedDbRateLimitStore } from './rate-limits.js'
import { createStorage, type IndexedDbStorage } from './storage.js'

export const INDEXEDDB_OPTIONS = {
  /** Longest wait of an operation for other pages and workers. @default '2.5s' */
  timeout: withDefault(isTimeout, '2.5s'),
}
/**
 * @example
 * import { indexedDbStorage } from 'animal-adoption-store/indexeddb'
 *
 * const storage = indexedDbStorage('adoption', { timeout: '5s' })
 */
export interface IndexedDbOptions extends OptionsOf<typeof INDEXEDDB_OPTIONS> {}

/**
 * Stores pets in a database of the browser, for any number of pages and workers of one origin. The
 * first call opens or creates it. While it cannot be used, calls reject with an `IndexedDbError`.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { indexedDbStorage } from 'animal-adoption-store/indexeddb'
 *
 * const storage = indexedDbStorage('adoption')
 * await createStore({ storage, apiKeys: {} }).createPet({ name: 'Rex', categoryId: 1 })
 */
export function indexedDbStorage(name: string, options?: IndexedDbOptions): IndexedDbStorage {
  const { timeout: timeoutMs } = settingsOf(INDEXEDDB_OPTIONS, options)
  check('name', name, isText)
  const storage = createStorage(name, timeoutMs, connect(name, timeoutMs))
  const open = () => storage.ping().then(() => storage)
  return durableStorage(openAtUse(open, () => new IndexedDbError(name, 'is closed')))
}

/**
 * Counts usage in a database of the browser, so that a reload does not reset it; the animals may be
 * in the same one. While it cannot be used, a store counts by itself.
 * @throws OptionError
 * @example
 * import { createStore } from 'animal-adoption-store'
 * import { indexedDbRateLimitStore, indexedDbStorage } from 'animal-adoption-store/indexeddb'
 *
 * const storage = indexedDbStorage('adoption')
 * const rateLimitStore = indexedDbRateLimitStore('adoption')
 * const store = createStore({ storage, rateLimitStore, apiKeys: {} })
 */
export function indexedDbRateLimitStore(
  name: string,
  options?: IndexedDbOptions,
): IndexedDbRateLimitStore {
  const { timeout: timeoutMs } = settingsOf(INDEXEDDB_OPTIONS, options)
  check('name', name, isText)
  return createRateLimits(connect(name, timeoutMs))
}
