import { RecordingError, type RecordingFile, readRecording } from '../test-double/recording/file.js'
import { readBytes } from './read-bytes.js'
import { unreadable } from './unreadable.js'
import { UsageError } from './usage-error.js'
import { withoutUrl } from './without-secrets.js'

/** @throws UsageError for a file that cannot be read, or is no recording */
export async function readRecordingFile(path: string): Promise<RecordingFile> {
  const bytes = await readBytes(path)
  try {
    return readRecording(bytes.toString(), path)
  } catch (error) {
    if (error instanceof RecordingError) throw new UsageError(error.message)
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    throw new UsageError(`${withoutUrl(path)} ${unreadable(error)}`)
  }
}
