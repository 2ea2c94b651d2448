import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { isObject, type OptionError } from '../../src/lib/check-options.js'
import { readInt64 } from '../../src/lib/int64.js'
import { describeSyntaxError, parseFindingDuplicate } from '../../src/lib/json-syntax.js'
import { decodeUtf8 } from '../../src/lib/utf8.js'
import * as z from '../../src/lib/zod.js'
import { PLANS } from '../../src/limits/plans.js'
import { toNewPet, toPet } from '../../src/pets/pet.js'
import { describeIssues, newPetSchema, petSchema } from '../../src/pets/schema.js'
import type { PetSnapshot } from '../../src/ports.js'
import { type ApiKey, createApiKeys } from '../../src/protocol/api-keys.js'
import { readBytes } from './read-and-write-files.js'
import { UsageError } from './usage-error.js'

/**
 * Reads animals: an array of NewPet, a list of the API, a document of the JSON file storage, or
 * `db.json` of json-server. Ids are kept; animals without one get the next.
 */
export async function readSeed(path: string, flag = '--seed'): Promise<PetSnapshot> {
  const given = await readJson(flag, path)
  const { pets: list = given, nextId, journal } = (isMembers(given) ? given : {}) as SeedFile
  if (!Array.isArray(list)) {
    const expected = 'must be an array of animals, or an object with `pets`, which is one'
    throw new UsageError(`${flag} ${path} ${expected}`)
  }
  if (journal) throw new UsageError(`${flag} ${path} is incomplete while its store is open`)
  let last = 0
  const pets = list.map((item, index) => {
    const animal = withNumbers(item)
    const { data, error } = ANIMAL.safeParse(animal)
    const { id = last + 1 } = data ?? {}
    const order = id > last ? undefined : `\`id\` must be greater than ${last}, the one before`
    const problem = error ? problemIn(error, animal) : order
    if (problem || !data) {
      const place = `animal ${index + 1}${nameOf(item)}`
      throw new UsageError(`${flag} ${path}: ${place}: ${problem}`)
    }
    last = id
    return toPet(id, toNewPet(data, 'available'))
  })
  return { pets, nextId: Math.max(last + 1, Number.isSafeInteger(nextId) ? Number(nextId) : 1) }
}

type SeedFile = Readonly<Partial<Record<'pets' | 'nextId' | 'journal', unknown>>>

const ANIMAL = z.strictObject(
  { id: z.optional(petSchema.shape.id), ...newPetSchema.shape },
  'must be a JSON object',
)

/** json-server stores ids as text. */
function withNumbers(item: unknown): unknown {
  if (!isMembers(item)) return item
  const read = (value: unknown) => (typeof value === 'string' ? (readInt64(value) ?? value) : value)
  const { id, categoryId } = item as Readonly<Record<string, unknown>>
  return { ...item, id: read(id), categoryId: read(categoryId) }
}

function problemIn(error: z.core.$ZodError, animal: unknown): string {
  const unknown = error.issues.find(issue => issue.code === 'unrecognized_keys')
  const fields = Object.keys(ANIMAL.shape).join(', ')
  return unknown
    ? `unknown field \`${unknown.keys[0]?.slice(0, 80)}\`; expected ${fields}`
    : describeIssues(error, animal, 'it')
}

function nameOf(item: unknown): string {
  const name = (item as { name?: unknown } | null)?.name
  return typeof name === 'string' ? ` ('${name.slice(0, 40)}')` : ''
}

export type KeyFile = ReadonlyMap<string, ApiKey>

export async function readKeys(path: string): Promise<Record<string, ApiKey>> {
  // The value is not shown: it holds the keys.
  if (path.trimStart().startsWith('{')) {
    throw new UsageError('--keys takes a file, not its content: --keys <file.json>')
  }
  const keys = await readKeyFile(path)
  if (keys.size === 0) throw notKeys(path)
  return Object.fromEntries(await checkKeys(path, keys))
}

/** Checks only the form. @throws UsageError */
export async function readKeyFile(path: string): Promise<KeyFile> {
  const keys = await readJson('--keys', path)
  if (isMembers(keys)) return new Map(Object.entries(keys))
  throw notKeys(path)
}

function notKeys(path: string): UsageError {
  return new UsageError(`--keys ${path} must look like {"<key>": {"id": "ci", "plan": "pro"}}`)
}

/** Number of keys to check before requests get a turn. */
const SLICE = 1_000

/**
 * Errors name positions only, as any text of the file may be a key.
 * @param known valid keys, whose records are reused if equal
 */
export async function checkKeys(
  path: string,
  file: KeyFile,
  known: ReadonlyMap<string, ApiKey> = new Map(),
): Promise<ReadonlyMap<string, ApiKey>> {
  const keys = new Map<string, ApiKey>()
  const ring = createApiKeys({}, PLANS, sha256)
  await inSlices(file, ([key, record], at) => {
    attempt(
      () => ring.add(key, record),
      error => `--keys ${path}: key ${at + 1}${problemOf(error)}`,
    )
    const before = known.get(key)
    keys.set(key, before && isDeepStrictEqual(before, record) ? before : record)
  })
  return keys
}

export async function inSlices<T>(items: Iterable<T>, task: (item: T, at: number) => void) {
  let at = 0
  for (const item of items) {
    if (at % SLICE === SLICE - 1) await setImmediate()
    task(item, at++)
  }
}

function problemOf({ option, expected, message }: OptionError): string {
  if (message.startsWith('Unknown')) return ` has an unknown field; expected ${expected}`
  const [field] =
    /\b(id|plan|limits|expiresAt|perMinute|perDay|banAfterRejections)$/.exec(option) ?? []
  return field === undefined ? ` must be ${expected}` : `: \`${field}\` must be ${expected}`
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function readJson(flag: string, path: string): Promise<unknown> {
  const bytes = await readBytes(path, flag)
  const text = attempt(
    () => decodeUtf8(bytes),
    () => `${flag} ${path} is not valid UTF-8; save it as UTF-8`,
  )
  const { value, duplicate } = attempt(
    () => parseFindingDuplicate(text),
    () => `${flag} ${path} is not valid JSON${describeSyntaxError(text)}`,
  )
  if (!duplicate) return value
  // In --keys, the name may be a key.
  const name = flag === '--keys' ? 'a name' : `\`${duplicate.name}\``
  throw new UsageError(`${flag} ${path} has ${name} twice, at ${duplicate.place}`)
}

function attempt<T>(task: () => T, messageFor: (error: OptionError) => string): T {
  try {
    return task()
  } catch (error) {
    throw new UsageError(messageFor(error as OptionError))
  }
}

function isMembers(value: unknown): value is Readonly<Record<string, ApiKey>> {
  return isObject.accepts(value)
}
