import { openStorage, openToRead } from '../open-stores.js'
import { createProgress, print } from '../print.js'
import { withStops } from '../shutdown.js'
import { UsageError } from '../usage-error.js'

/**
 * Copies all animals and the next id into a storage that was never used, all or nothing.
 * @throws UsageError, and an Error for a damaged source
 */
export async function copy(from: string, to: string): Promise<void> {
  if (from === to) throw new UsageError('copy takes two storages, got the same one twice')
  await withStops(async stops => {
    const source = await openToRead('copy <from>', from, stops)
    const [problem] = source.problems
    if (problem !== undefined) throw new Error(problem)
    const target = await openStorage('copy <to>', to, stops)
    await source.stream(async content => {
      const progress = createProgress()
      const done = await target.seed(content, {
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
