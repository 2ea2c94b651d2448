import { RUN_CHECK } from '../sqlite/failures.js'
import { openToRead, printWarning, refuseMissing } from './backends.js'
import { type Stops, withStops } from './stops.js'
import { UsageError } from './usage-error.js'

/**
 * Reads all of a storage. Resolves with the exit code: 1 when something is damaged.
 *
 * @throws UsageError, and whatever the storage throws that cannot be opened
 */
export async function check(name: string): Promise<number> {
  if (name === 'memory:') throw new UsageError('check takes a storage that outlives its process')
  refuseMissing(name)
  return withStops(stops => checkAll(name, stops)).catch(error => {
    throw withoutAdvice(error)
  })
}

async function checkAll(name: string, stops: Stops): Promise<number> {
  const opened = await openToRead('check <store>', name, stops)
  for (const note of opened.notes) printWarning(note)
  const found = (await opened.check?.()) ?? []
  const problems = [...opened.problems, ...found.map(problem => `${opened.name}: ${problem}`)]
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  if (problems.length > 0) return 1
  const { pets, nextId } = await opened.storage.dump()
  process.stdout.write(`${opened.name}: ${pets.length} animals, the next id is ${nextId}\n`)
  return 0
}

/** The advice of a damaged database is what has just been done. */
function withoutAdvice(error: unknown): unknown {
  if (!(error instanceof Error && error.message.includes(RUN_CHECK))) return error
  return new Error(error.message.replace(RUN_CHECK, ''), { cause: error })
}
