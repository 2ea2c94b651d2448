// The contract of a storage, as tests: node --test
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { storageSuite } from 'animal-adoption-store/storage-suite'
import { fileStorage } from './file-storage.mjs'

const folder = await mkdtemp(join(tmpdir(), 'own-storage-'))
after(() => rm(folder, { recursive: true }))
const paths = new Map()

storageSuite(test, {
  create: () => open(join(folder, `${paths.size}.json`)),
  reopen: storage => open(paths.get(storage)),
  idempotency: true,
})

async function open(path) {
  const storage = await fileStorage(path)
  paths.set(storage, path)
  return storage
}
