import { jsonFileStorage } from '../../adapters/json-file/index.js'

/** Forked by a test: opens the file, inserts one pet, and stays until it is killed. */
const [, , path] = process.argv
if (path !== undefined) {
  const storage = await jsonFileStorage(path)
  await storage.insert({ name: 'Rex', categoryId: 1, status: 'available' })
  process.send?.('ready')
}
