import { brand } from '../../../src/lib/brand.js'

/** A problem with a file, in one line that begins with its path. */
export class JsonFileError extends Error {
  override readonly name = 'JsonFileError'
  readonly path: string

  constructor(path: string, reason: string, options?: ErrorOptions) {
    super(`${path} ${reason}`, options)
    this.path = path
  }
}
brand({ JsonFileError })
