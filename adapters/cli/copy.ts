import { type BigIntStats, statSync } from 'node:fs'
import { isSameFile } from '../storage/files.js'
import { fileOf, openStorage, openToRead, printWarning, refuseMissing } from './backends.js'
import { createProgress } from './progress.js'
import { withStops } from './stops.js'
import { UsageError } from './usage-error.js'

/**
 * Copies all animals and the next id into a storage that was never used, all or nothing.
 *
 * @throws UsageError, and an Error for a source that is damaged
 */
export async function copy(from: string, to: string): Promise<void> {
  for (const [flag, name] of [
    ['copy <from>', from],
    ['copy <to>', to],
  ] as const) {
    if (name === 'memory:')
      throw new UsageError(`${flag} cannot be memory:, whose animals are lost when copy ends`)
  }
  if (from === to || isSameStore(from, to)) {
    throw new UsageError('copy takes two storages, got the same one twice')
  }
  refuseMissing(from)
  await withStops(async stops => {
    const source = await openToRead('copy <from>', from, stops)
    const [problem] = source.problems
    if (problem !== undefined) throw new Error(problem)
    for (const note of source.notes) printWarning(note)
    const target = await openStorage('copy <to>', to, stops)
    await source.stream(async content => {
      const progress = createProgress(content.count)
      const done = await target.seed(content, { onProgress: written => progress.show(written) })
      progress.end()
      if (!done) {
        throw new Error(
          `${target.name} already has animals; copy into an empty store, nothing changed`,
        )
      }
      process.stdout.write(
        `Copied ${content.count} animals from ${source.name} to ${target.name}; the next id is ${content.nextId}\n`,
      )
    })
  })
}

/** Whether both are in one file, by whatever names. */
function isSameStore(from: string, to: string): boolean {
  const source = fileAt(from)
  return source !== undefined && isSameFile(fileAt(to), source)
}

/** Undefined for a storage in no file, and where opening says what is wrong with it. */
function fileAt(name: string): BigIntStats | undefined {
  const file = fileOf(name)
  try {
    return file && statSync(file.path, { bigint: true })
  } catch {
    return undefined
  }
}
