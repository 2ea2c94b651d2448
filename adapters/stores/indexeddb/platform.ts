/** The subset of IndexedDB in use. With the DOM library, a forgotten `name` would be a valid global. */
export interface Factory {
  open(name: string, version: number): OpenRequest
}

export interface Request<T = unknown> {
  readonly result: T
  readonly error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
}

export interface OpenRequest extends Request<Database> {
  readonly transaction: Transaction | null
  onupgradeneeded: (() => void) | null
}

export interface Database {
  readonly objectStoreNames: Iterable<string>
  createObjectStore(name: string, options: { readonly keyPath?: KeyPath }): ObjectStore
  transaction(
    names: readonly string[],
    mode: Mode,
    options: { readonly durability: 'strict' | 'relaxed' },
  ): Transaction
  close(): void
  onversionchange: (() => void) | null
  onclose: (() => void) | null
}

export type Mode = 'readonly' | 'readwrite'
export type KeyPath = string | readonly string[]
export type Key = number | string | readonly (number | string)[]

export interface Transaction {
  readonly error: unknown
  objectStore(name: string): ObjectStore
  /** Commits now, instead of after a turn without requests. */
  commit(): void
  abort(): void
  oncomplete: (() => void) | null
  onabort: (() => void) | null
}

export interface Source<T> {
  get(key: Key): Request<T | undefined>
  getAll(range?: Range, limit?: number): Request<T[]>
  getAllKeys(range?: Range, limit?: number): Request<Key[]>
}

// biome-ignore lint/suspicious/noExplicitAny: each store knows its values.
export interface ObjectStore<T = any> extends Source<T> {
  add(value: T): Request
  put(value: T, key?: Key): Request
  delete(key: Key): Request
  clear(): Request
  createIndex(name: string, keyPath: KeyPath): unknown
  index(name: string): Source<T>
}

declare const range: unique symbol
export type Range = { readonly [range]: true }

interface KeyRange {
  lowerBound(lower: Key, isOpen?: boolean): Range
  upperBound(upper: Key): Range
  bound(lower: Key, upper: Key, isLowerOpen?: boolean): Range
}

const { indexedDB, IDBKeyRange } = globalThis as {
  readonly indexedDB?: Factory
  readonly IDBKeyRange?: KeyRange
}

export const factory = indexedDB
export const keyRange = IDBKeyRange as KeyRange

export function resultOf<T>(request: Request<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error)
  })
}
