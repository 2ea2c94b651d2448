/**
 * Something typed, or a file it names, is not right: exit code 2. The message says how it would be.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
