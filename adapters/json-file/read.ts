import type { PetSnapshot } from '../../src/ports.js'
import { createPetIndex } from '../memory.js'
import { NODE_DISK } from './disk.js'
import { documentFile } from './document.js'
import { JsonFileError } from './json-file-error.js'
import { journalsOf, locked } from './open.js'
import { type LeftOut, replayJournals } from './replay.js'

export interface JsonFileContent {
  readonly snapshot: PetSnapshot
  /** What is damaged, in a line each. */
  readonly problems: readonly string[]
  /** What a crash has left, in a line each. */
  readonly notes: readonly string[]
}

/**
 * Reads a document and its journals, and changes neither. It holds the lock meanwhile, so that no
 * process changes them either.
 *
 * @throws JsonFileError when another process uses the file, or it cannot be read
 */
export async function readJsonFile(path: string, disk = NODE_DISK): Promise<JsonFileContent> {
  return locked(disk, path, async (real, lock) => {
    const problems: JsonFileError[] = []
    const notes: JsonFileError[] = []
    const content = documentFile(disk, real, lock, error => problems.push(error))
    const index = (await content.read()) ?? createPetIndex()
    const missing = content.length === 0 ? real : undefined
    const leaveOut = (end: LeftOut) =>
      end.isComplete ? problems.push(damaged(end)) : notes.push(unfinished(end))
    await replayJournals(disk, journalsOf(real), index, leaveOut, missing)
    if (missing) problems.push(new JsonFileError(missing, WITHOUT_DOCUMENT))
    await lock.release()
    return { snapshot: index.dump(), problems: linesOf(problems), notes: linesOf(notes) }
  })
}

function linesOf(errors: readonly JsonFileError[]): readonly string[] {
  return errors.map(({ message }) => message)
}

function damaged({ path, line }: LeftOut): JsonFileError {
  const found = `its last batch, from line ${line} on, is complete, but does not match its checksum`
  const fix = 'restore a backup, or serve it once to go on without that batch'
  return new JsonFileError(path, `is damaged: ${found}; ${fix}`)
}

function unfinished({ path, bytes }: LeftOut): JsonFileError {
  const found = `ends in ${bytes} bytes of an unfinished write`
  return new JsonFileError(path, `${found}, which were never acknowledged; a server drops them`)
}

const WITHOUT_DOCUMENT =
  'is missing; put it back, or serve it once to go on with what its journal has'
