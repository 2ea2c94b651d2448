import { UsageError } from './flags.js'

/** The options that name a key, and those that name its variable. */
type KeyFlags<Name extends string> = {
  readonly [flag in Name | `${Name}-env`]?: string | undefined
}

/**
 * The key given to `--<name>`, or in the variable that `--<name>-env` names. In an error it is never
 * shown.
 *
 * @throws UsageError
 */
export function readKey<Name extends string>(
  flags: KeyFlags<Name>,
  name: Name,
): string | undefined {
  const given: string | undefined = flags[name]
  const variable: string | undefined = flags[`${name}-env`]
  if (variable === undefined) return given
  if (given !== undefined) {
    throw new UsageError(`--${name} cannot be combined with --${name}-env; give one of them`)
  }
  const key = process.env[variable]
  if (key) return key
  if (/^[A-Z_][A-Z\d_]*$/.test(variable)) {
    throw new UsageError(`--${name}-env names ${variable}, which is not set`)
  }
  // Not shown: it may be a key.
  throw new UsageError(
    `--${name}-env takes the name of an environment variable, such as ADOPTION_KEY; the one given is not set`,
  )
}
