import { snapshotOf } from '../../stores/kit/pet-stream.js'
import type { Call } from '../commands.js'
import { openToRead } from '../open-stores.js'
import { print, printError } from '../print.js'
import { withStops } from '../shutdown.js'

/** Reads a whole storage; resolves with the exit code: 1 for damage. @throws UsageError */
export async function main(_: unknown, { operands: [name = ''] }: Call): Promise<number> {
  return withStops(async stops => {
    const { problems, ...opened } = await openToRead('check <store>', name, stops)
    const found = (await opened.check?.()) ?? []
    const all = [...problems, ...found.map(problem => `${opened.name}: ${problem}`)]
    for (const problem of all) printError(`${problem}\n`)
    if (all.length > 0) return 1
    const { pets, nextId } = await opened.stream(snapshotOf)
    print(`${opened.name}: ${pets.length} animals, the next id is ${nextId}\n`)
    return 0
  })
}
