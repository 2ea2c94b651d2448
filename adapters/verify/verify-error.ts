import { brand } from '../../src/lib/brand.js'

/** The server cannot be verified at all: out of reach, no HTTP, a wrong key, no budget left. */
export class VerifyError extends Error {
  override readonly name = 'VerifyError'
}
brand({ VerifyError })
