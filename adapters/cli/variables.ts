import { type Flags, OPTIONS, UsageError } from './flags.js'
import { withoutUrl } from './without-secrets.js'

export interface Variables {
  readonly flags: Flags
  /** The variable that each of them came from, by the name of the option. */
  readonly sources: ReadonlyMap<string, string>
}

/**
 * Options from the environment: `ADOPTION_STORE_STAGING_PORT` for `--staging-port`, and `PORT` and
 * `HOST` as hosting platforms set them. An empty variable counts as not set.
 *
 * @throws UsageError
 */
export function readVariables(environment: NodeJS.ProcessEnv): Variables {
  const flags: Record<string, string | boolean> = {}
  const sources = new Map<string, string>()
  for (const [name, { value, alone }] of OPTIONS) {
    if (name === 'help' || name === 'version') continue
    const variable = variablesFor(name).find(known => environment[known])
    const text = environment[variable ?? '']
    if (variable === undefined || text === undefined) continue
    // An option that may stand alone is also a switch.
    const isSwitch = !value || (alone && /^(0|1|true|false)$/i.test(text))
    const given = isSwitch ? readSwitch(variable, text) : text
    if (given === false && alone) continue
    flags[name] = given === true && alone ? alone : given
    sources.set(name, variable)
  }
  return { flags, sources }
}

function variablesFor(name: string): readonly string[] {
  const general = name.toUpperCase().replaceAll('-', '_')
  const own = `ADOPTION_STORE_${general}`
  return name === 'port' || name === 'host' ? [own, general] : [own]
}

function readSwitch(variable: string, text: string): boolean {
  if (/^(1|true)$/i.test(text)) return true
  if (/^(0|false)$/i.test(text)) return false
  throw new UsageError(`${variable} takes 1 or 0, got '${withoutUrl(text)}'`)
}
