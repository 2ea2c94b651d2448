import { UsageError } from './usage-error.js'

/**
 * The key that was given, or that a variable holds. In an error it is never shown.
 *
 * @param flag the option of the key, such as `--key`; the other is `--key-env`
 * @throws UsageError
 */
export function readKey(
  flag: string,
  given: string | undefined,
  variable: string | undefined,
): string | undefined {
  if (variable === undefined) return given
  const key = process.env[variable]
  if (key) return key
  if (/^[A-Z_][A-Z\d_]*$/.test(variable)) {
    throw new UsageError(`${flag}-env names ${variable}, which is not set`)
  }
  // Not shown: it may be a key.
  throw new UsageError(
    `${flag}-env takes the name of an environment variable, such as ADOPTION_KEY; the one given is not set`,
  )
}
