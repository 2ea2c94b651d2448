import { readFile } from 'node:fs/promises'
import { type ApiKey, createApiKeys } from '../../src/api-keys.js'
import { parseJson } from '../../src/json.js'
import type { PetSnapshot } from '../../src/ports.js'
import { UsageError } from './flags.js'

/** The animals of `--seed`: an array of NewPet, given ids from 1 on in their order. */
export async function readSeed(path: string): Promise<PetSnapshot> {
  const { describeIssues, newPetSchema } = await import('../../src/model.js')
  const list = await readJson('--seed', path)
  if (!Array.isArray(list)) throw new UsageError(`--seed ${path} must be an array of animals`)
  const pets = list.map((item, at) => {
    const parsed = newPetSchema.safeParse(item)
    if (!parsed.success) {
      throw new UsageError(
        `--seed ${path}: animal ${at + 1}: ${describeIssues(parsed.error, item)}`,
      )
    }
    const { name, categoryId, status = 'available' } = parsed.data
    return { id: at + 1, name, categoryId, status }
  })
  return { pets, nextId: pets.length + 1 }
}

/** The keys of `--keys`. */
export async function readKeys(path: string): Promise<Record<string, ApiKey>> {
  const keys = (await readJson('--keys', path)) as Record<string, ApiKey>
  if (Array.isArray(keys) || Object.keys(keys ?? {}).length === 0) {
    throw new UsageError(`--keys ${path} must be like {"<key>": {"id": "ci", "plan": "pro"}}`)
  }
  try {
    createApiKeys(keys)
  } catch (error) {
    throw new UsageError(`--keys ${path}: ${(error as Error).message}`)
  }
  return keys
}

async function readJson(flag: string, path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${flag} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    return await parseJson(text.replace(/^\ufeff/, ''))
  } catch {
    throw new UsageError(`${flag} ${path} is not valid JSON`)
  }
}
