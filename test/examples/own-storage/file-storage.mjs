// A storage in fifty lines: a JSON file that every change rewrites. Good for some hundred animals.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { parseJson, toJson } from 'animal-adoption-store'
import { memoryStorage } from 'animal-adoption-store/memory'

/** For one process at a time. */
export async function fileStorage(path) {
  let stored = memoryStorage(await read(path))
  let last = Promise.resolve()

  return {
    insert: pet => change('insert', pet),
    insertOnce: (pet, once, now) => change('insertOnce', pet, once, now),
    find: id => stored.find(id),
    list: filter => stored.list(filter),
    dump: () => stored.dump(),
    restore: snapshot => change('restore', snapshot),
  }

  /** One at a time: on a copy, then on the disk, and only then for everyone to see. */
  function change(method, ...given) {
    const values = structuredClone(given)
    const result = last.then(async () => {
      const next = memoryStorage(stored.dump())
      const value = next[method](...values)
      await write(path, toJson(next.dump()))
      stored = next
      return value
    })
    last = result.catch(() => {})
    return result
  }
}

async function read(path) {
  try {
    return parseJson(await readFile(path, 'utf8'))
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}

/** Replaces the file in one step, so that a crash leaves the old one. */
async function write(path, text) {
  await writeFile(`${path}.new`, text, { flush: true })
  await rename(`${path}.new`, path)
}
