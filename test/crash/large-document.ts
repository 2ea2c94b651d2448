import assert from 'node:assert/strict'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonFileStorage } from '../../adapters/json-file/index.js'

/** Grows a document beyond the longest string, closes it and opens it again; gives its size. */
export async function checkLargeDocument(): Promise<number> {
  const folder = fs.mkdtempSync(join(tmpdir(), 'large-'))
  const path = join(folder, 'pets.json')
  const storage = await jsonFileStorage(path)
  // Six bytes in the document for each character in memory.
  const name = '\u0001'.repeat(150_000)
  await Promise.all(Array.from({ length: 620 }, () => storage.insert({ name, categoryId: 1 })))
  await storage.close()
  const { size } = fs.statSync(path)
  assert.ok(size > 2 ** 29)
  const again = await jsonFileStorage(path)
  assert.equal((await again.dump()).nextId, 621)
  assert.equal((await again.find(620))?.name, name)
  await again.close()
  fs.rmSync(folder, { recursive: true })
  return size
}
