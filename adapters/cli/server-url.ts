import { UsageError } from './usage-error.js'
import { withoutSecrets } from './without-secrets.js'

/** The server of `--store postgres://…` or `--limits redis://…`. */
export interface ServerUrl {
  readonly url: string
  /** Without user and password. */
  readonly address: string
  /** Parameters that are for this program, not for the driver. */
  readonly own: Readonly<Record<string, string>>
}

/**
 * `postgres:` and `redis:` alone read a variable, so that `ps` shows no password.
 *
 * @param names of parameters that are taken out of the query, each once
 * @param addressOf checks a URL, and throws without the URL in the message
 * @throws UsageError
 */
export function readServerUrl(
  flag: string,
  given: string,
  variable: string,
  names: readonly string[],
  addressOf: (url: string) => string,
): ServerUrl {
  const [target, own] = takeParameters(given, names)
  const fromVariable = target.includes('//') ? undefined : process.env[variable]
  if (!target.includes('//') && !fromVariable) {
    const shown = withoutSecrets(target)
    throw new UsageError(`${flag} ${shown} needs the variable ${variable} to be a URL`, flag)
  }
  const [url, inherited] = fromVariable ? takeParameters(fromVariable, names) : [target, {}]
  try {
    return { url, address: addressOf(url), own: { ...inherited, ...own } }
  } catch (error) {
    const source = fromVariable ? ` (from ${variable})` : ''
    throw new UsageError(`${flag}: ${(error as Error).message}${source}`, flag)
  }
}

/** What is left of the text, and the named parameters of its query. */
function takeParameters(
  text: string,
  names: readonly string[],
): [rest: string, taken: Record<string, string>] {
  const [address = '', ...query] = text.split('?')
  const taken: Record<string, string> = {}
  const rest = query
    .join('?')
    .split('&')
    .filter(parameter => {
      const [[name = '', value = ''] = []] = new URLSearchParams(parameter)
      if (!names.includes(name) || name in taken) return parameter !== ''
      taken[name] = value
      return false
    })
  return [rest.length === 0 ? address : `${address}?${rest.join('&')}`, taken]
}
