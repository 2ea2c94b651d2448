import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { after } from 'node:test'
import { type JsonFileStorage, jsonFileStorage } from '../adapters/json-file/index.js'
import { storageSuite } from './storage-suite.js'

const root = mkdtempSync(join(tmpdir(), 'json-file-'))
const opened = new Map<unknown, string>()
let files = 0
after(() => rmSync(root, { recursive: true }))

storageSuite(test, {
  create: () => open(join(root, `${++files}.json`)),
  async reopen(storage) {
    await (storage as JsonFileStorage).close()
    return open(opened.get(storage) as string)
  },
})

async function open(path: string): Promise<JsonFileStorage> {
  const storage = await jsonFileStorage(path)
  opened.set(storage, path)
  return storage
}
