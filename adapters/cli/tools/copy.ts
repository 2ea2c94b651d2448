import { readFile } from 'node:fs/promises'
import { isForeign } from '../../stores/json-file/parse-document.js'
import { streamOf } from '../../stores/kit/pet-stream.js'
import type { Call } from '../commands.js'
import { openStorage, openToRead, type ReadStorage } from '../open-stores.js'
import { createProgress, print } from '../print.js'
import { readSeed } from '../seed-and-keys-files.js'
import { withStops } from '../shutdown.js'
import { UsageError } from '../usage-error.js'

/** Copies all animals and the next id into a storage that was never used, all or nothing. */
export async function main(_: unknown, { operands: [from = '', to = ''] }: Call): Promise<void> {
  if (from === to) throw new UsageError('copy takes two storages, got the same one twice')
  await withStops(async stops => {
    const source = await openToRead('copy <from>', from, stops).catch(error =>
      readForeign(from, error),
    )
    const [problem] = source.problems
    if (problem !== undefined) throw new Error(problem)
    const target = await openStorage('copy <to>', to, stops)
    await source.stream(async content => {
      const progress = createProgress()
      const done = await target.restoreIfNew(content, {
        onProgress: written => progress.show(written, content.count),
      })
      progress.end()
      if (!done) {
        const advice = 'copy into an empty store, nothing changed'
        throw new Error(`${target.name} already has animals; ${advice}`)
      }
      const route = `from ${source.name} to ${target.name}`
      const { count, nextId } = content
      print(`Copied ${count} animals ${route}; the next id is ${nextId}\n`)
    })
  })
}

/** Reads a list of the API, or `db.json` of json-server. @throws the given error for other files */
async function readForeign(path: string, error: unknown): Promise<ReadStorage> {
  const bytes = await readFile(path).catch(() => undefined)
  if (!bytes || !isForeign(bytes)) throw error
  const snapshot = await readSeed(path, 'copy')
  return { name: path, stream: read => read(streamOf(snapshot)), problems: [] }
}
