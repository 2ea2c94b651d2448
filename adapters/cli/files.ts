import { createHash } from 'node:crypto'
import { parseJson } from '../../src/lib/json.js'
import { describeSyntaxError, findDuplicate } from '../../src/lib/json-syntax.js'
import { instantOf } from '../../src/lib/time.js'
import { decodeUtf8 } from '../../src/lib/utf8.js'
import * as z from '../../src/lib/zod.js'
import { PLANS } from '../../src/limits/plans.js'
import { describeIssues, newPetSchema } from '../../src/pets/schema.js'
import type { PetSnapshot } from '../../src/ports.js'
import { type ApiKey, createApiKeys } from '../../src/protocol/api-keys.js'
import { readBytes } from './read-bytes.js'
import { UsageError } from './usage-error.js'

/** The animals of `--seed`, an array of NewPet; they get the ids 1, 2, 3 …. @throws UsageError */
export async function readSeed(path: string): Promise<PetSnapshot> {
  const strictSchema = z.strictObject(newPetSchema.shape, 'must be a JSON object')
  const fields = Object.keys(newPetSchema.shape).join(', ')
  const list = await readJson('--seed', path)
  if (!Array.isArray(list)) {
    throw new UsageError(`--seed ${path} must be an array of animals`, '--seed')
  }
  const pets = list.map((item, index) => {
    const parsed = strictSchema.safeParse(item)
    if (!parsed.success) {
      const unknown = parsed.error.issues.find(issue => issue.code === 'unrecognized_keys')
      const problem = unknown
        ? `unknown field \`${unknown.keys[0]}\`; expected ${fields}`
        : describeIssues(parsed.error, item, 'it')
      throw new UsageError(
        `--seed ${path}: animal ${index + 1}${nameOf(item)}: ${problem}`,
        '--seed',
      )
    }
    const { name, categoryId, status = 'available' } = parsed.data
    return { id: index + 1, name, categoryId, status }
  })
  return { pets, nextId: pets.length + 1 }
}

/** A file of `--keys`: as the store takes the keys, but with `expires` as ISO 8601. */
export type KeyFile = Readonly<Record<string, KeyRecord>>
type KeyRecord = Omit<ApiKey, 'expires'> & { readonly expires?: unknown }

/** The keys of `--keys`. @throws UsageError */
export async function readKeys(path: string): Promise<Record<string, ApiKey>> {
  // Not shown: it holds the keys.
  if (path.trimStart().startsWith('{')) {
    throw new UsageError('--keys takes a file, not its content: --keys <file.json>', '--keys')
  }
  const keys = await readKeyFile(path)
  if (Object.keys(keys).length === 0) {
    throw new UsageError(
      `--keys ${path} must look like {"<key>": {"id": "ci", "plan": "pro"}}`,
      '--keys',
    )
  }
  return checkKeys(path, keys)
}

/** Unchecked except for its form. @throws UsageError */
export async function readKeyFile(path: string): Promise<KeyFile> {
  const keys = await readJson('--keys', path)
  if (typeof keys === 'object' && keys !== null && !Array.isArray(keys)) return keys as KeyFile
  throw new UsageError(
    `--keys ${path} must look like {"<key>": {"id": "ci", "plan": "pro"}}`,
    '--keys',
  )
}

/** @throws UsageError */
export function checkKeys(path: string, file: KeyFile): Record<string, ApiKey> {
  try {
    const entries = Object.entries(file).map(([key, record]): [string, ApiKey] => {
      // Checked as a whole below.
      if (typeof record?.expires !== 'string') return [key, record as ApiKey]
      const expires = instantOf(`apiKeys['${record.id}'].expires`, record.expires)
      return [key, { ...record, expires }]
    })
    // From entries: a key may be named like a property of objects.
    const keys = Object.fromEntries(entries)
    createApiKeys(keys, PLANS, sha256)
    return keys
  } catch (error) {
    throw new UsageError(`--keys ${path}: ${(error as Error).message}`, '--keys')
  }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function nameOf(item: unknown): string {
  const name = (item as { name?: unknown } | null)?.name
  return typeof name === 'string' ? ` ('${name.slice(0, 40)}')` : ''
}

async function readJson(flag: string, path: string): Promise<unknown> {
  const text = decode(flag, path, await readBytes(path, flag))
  const value = parse(flag, path, text)
  const duplicate = findDuplicate(text)
  if (!duplicate) return value
  // In --keys, the name may be a key.
  const name = flag === '--keys' ? 'a name' : `\`${duplicate.name}\``
  throw new UsageError(`${flag} ${path} has ${name} twice, at ${duplicate.place}`, flag)
}

function parse(flag: string, path: string, text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new UsageError(`${flag} ${path} is not valid JSON${describeSyntaxError(text)}`, flag)
  }
}

function decode(flag: string, path: string, bytes: Uint8Array): string {
  try {
    return decodeUtf8(bytes)
  } catch {
    throw new UsageError(`${flag} ${path} is not valid UTF-8; save it as UTF-8`, flag)
  }
}
