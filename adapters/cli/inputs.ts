import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { parseJson } from '../../src/lib/json.js'
import { describeSyntaxError, findDuplicate } from '../../src/lib/json-syntax.js'
import type { OptionError } from '../../src/lib/options.js'
import { instantOf } from '../../src/lib/time.js'
import { decodeUtf8 } from '../../src/lib/utf8.js'
import * as z from '../../src/lib/zod.js'
import { PLANS } from '../../src/limits/plans.js'
import { describeIssues, newPetSchema } from '../../src/pets/schema.js'
import type { PetSnapshot } from '../../src/ports.js'
import { type ApiKey, createApiKeys } from '../../src/protocol/api-keys.js'
import { UsageError } from './errors.js'
import { readBytes } from './files.js'

/** The animals of `--seed`, an array of NewPet; they get the ids 1, 2, 3 …. @throws UsageError */
export async function readSeed(path: string): Promise<PetSnapshot> {
  const list = await readJson('--seed', path)
  if (!Array.isArray(list)) {
    throw new UsageError(`--seed ${path} must be an array of animals`)
  }
  const schema = z.strictObject(newPetSchema.shape, 'must be a JSON object')
  const pets = list.map((item, index) => {
    const parsed = schema.safeParse(item)
    if (parsed.success) {
      const { name, categoryId, status = 'available' } = parsed.data
      return { id: index + 1, name, categoryId, status }
    }
    const unknown = parsed.error.issues.find(issue => issue.code === 'unrecognized_keys')
    const fields = Object.keys(newPetSchema.shape).join(', ')
    const problem = unknown
      ? `unknown field \`${unknown.keys[0]}\`; expected ${fields}`
      : describeIssues(parsed.error, item, 'it')
    const place = `animal ${index + 1}${nameOf(item)}`
    throw new UsageError(`--seed ${path}: ${place}: ${problem}`)
  })
  return { pets, nextId: pets.length + 1 }
}

function nameOf(item: unknown): string {
  const name = (item as { name?: unknown } | null)?.name
  return typeof name === 'string' ? ` ('${name.slice(0, 40)}')` : ''
}

/** A file of `--keys`: as the store takes the keys, but with `expires` as ISO 8601. */
export type KeyFile = Readonly<Record<string, KeyRecord>>
type KeyRecord = Omit<ApiKey, 'expires'> & { readonly expires?: unknown }

/** The keys of `--keys`. @throws UsageError */
export async function readKeys(path: string): Promise<Record<string, ApiKey>> {
  // Not shown: it holds the keys.
  if (path.trimStart().startsWith('{')) {
    throw new UsageError('--keys takes a file, not its content: --keys <file.json>')
  }
  const keys = await readKeyFile(path)
  if (Object.keys(keys).length === 0) throw notKeys(path)
  return checkKeys(path, keys)
}

/** Unchecked except for its form. @throws UsageError */
export async function readKeyFile(path: string): Promise<KeyFile> {
  const keys = await readJson('--keys', path)
  if (typeof keys === 'object' && keys !== null && !Array.isArray(keys)) return keys as KeyFile
  throw notKeys(path)
}

function notKeys(path: string): UsageError {
  return new UsageError(`--keys ${path} must look like {"<key>": {"id": "ci", "plan": "pro"}}`)
}

/** How many keys to read before requests get a turn. */
export const SLICE = 1_000

/**
 * Errors name positions only, as any text of the file may be a key.
 *
 * @param known keys that are valid: the file's stay the same objects where they are equal
 * @throws UsageError
 */
export async function checkKeys(
  path: string,
  file: KeyFile,
  known: Readonly<Record<string, ApiKey>> = {},
): Promise<Record<string, ApiKey>> {
  const keys: [string, ApiKey][] = []
  const changed = new Set<unknown>()
  for (const [at, [key, record]] of Object.entries(file).entries()) {
    if (at % SLICE === 0) await setImmediate()
    const read = attempt(at, () => readRecord(record))
    const before = Object.hasOwn(known, key) ? known[key] : undefined
    const isEqual = before !== undefined && isSame(before, read)
    if (!isEqual) changed.add(read?.id)
    keys.push([key, isEqual ? before : read])
  }
  const ring = createApiKeys({}, PLANS, sha256)
  for (const [at, [key, record]] of keys.entries()) {
    if (at % SLICE === 0) await setImmediate()
    // Keys of one id have one plan, so that all of them are checked if one has changed.
    if (changed.has(record?.id)) attempt(at, () => ring.add(key, record))
  }
  // From entries: a key may be named like a property of objects.
  return Object.fromEntries(keys)

  function attempt<T>(at: number, task: () => T): T {
    try {
      return task()
    } catch (error) {
      throw new UsageError(`--keys ${path}: key ${at + 1}${problemOf(error as OptionError)}`)
    }
  }
}

function readRecord(record: KeyRecord): ApiKey {
  const { expires } = record ?? {}
  if (typeof expires !== 'string') return record as ApiKey
  return { ...(record as ApiKey), expires: instantOf('expires', expires) }
}

function isSame(one: ApiKey, other: ApiKey): boolean {
  return (
    one.id === other?.id &&
    one.plan === other.plan &&
    one.expires === other.expires &&
    (one.limits === other.limits || isDeepStrictEqual(one.limits, other.limits)) &&
    Object.keys(one).length === Object.keys(other).length
  )
}

function problemOf({ option, expected, message }: OptionError): string {
  if (message.startsWith('Unknown')) return ` has an unknown field; expected ${expected}`
  const [field] = /\b(id|plan|limits|expires|perMinute|perDay|banAfter)$/.exec(option) ?? []
  return field === undefined ? ` must be ${expected}` : `: \`${field}\` must be ${expected}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function readJson(flag: string, path: string): Promise<unknown> {
  const bytes = await readBytes(path, flag)
  const text = attempt(
    () => decodeUtf8(bytes),
    () => 'is not valid UTF-8; save it as UTF-8',
  )
  const value = attempt(
    () => parseJson(text),
    () => `is not valid JSON${describeSyntaxError(text)}`,
  )
  // Each of the two takes a while for many keys.
  await setImmediate()
  const duplicate = findDuplicate(text)
  if (!duplicate) return value
  // In --keys, the name may be a key.
  const name = flag === '--keys' ? 'a name' : `\`${duplicate.name}\``
  throw refuse(`has ${name} twice, at ${duplicate.place}`)

  function attempt<T>(read: () => T, problem: () => string): T {
    try {
      return read()
    } catch {
      throw refuse(problem())
    }
  }

  function refuse(problem: string): UsageError {
    return new UsageError(`${flag} ${path} ${problem}`)
  }
}
