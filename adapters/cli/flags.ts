import { parseArgs } from 'node:util'

interface Flag {
  readonly short?: string
  /** What it takes, as the help names it; a flag without one is on or off. */
  readonly value?: string
  /** May be given several times; the values are joined with commas. */
  readonly isList?: true
  readonly help: string
}

/** The options of the command line: what they take, and what the help says of them. */
const FLAGS = {
  port: { short: 'p', value: 'n', help: 'port to listen on, 0 picks a free one (4280)' },
  host: { value: 'host', help: 'address to bind (127.0.0.1)' },
  store: { value: 'store', help: 'memory:, a JSON file, postgres://… or postgres: (memory:)' },
  limits: { value: 'limits', help: 'counters: memory:, redis://… or redis: (memory:)' },
  'proxy-hops': { value: 'n', help: 'trusted proxies in front of the server (0)' },
  seed: { value: 'file.json', help: 'animals for an empty store: an array of NewPet' },
  empty: { help: 'no demo animals' },
  keys: {
    value: 'file.json',
    help: '{"<key>": {"id": "ci", "plan": "pro"}} instead of the demo keys',
  },
  'no-rate-limit': { help: 'no limits and no rate limit headers' },
  'no-cors': { help: 'no CORS headers' },
  pagination: { help: '?after=<id> and Link: rel="next" on lists' },
  delay: { value: 'ms', help: 'wait before every answer' },
  control: { help: 'commands for tests below /_control: reset, clock, faults, report' },
  clock: {
    value: 'instant',
    help: 'a clock that stands still at this ISO instant, with --control',
  },
  'staging-port': { value: 'n', help: 'a second, separate store on this port' },
  log: { value: 'format', help: 'request log on stderr: pretty, json or silent (pretty)' },
  quiet: { short: 'q', help: 'no banner and no request log' },
  json: { help: 'print one line of JSON on stdout when ready' },
  strict: { help: 'exec: exit with 1 when the client broke a rule, or sent no request' },
  allow: {
    value: 'rule',
    isList: true,
    help: 'exec: a rule that --strict forgives; may be repeated',
  },
  help: { short: 'h', help: 'print this' },
  version: { short: 'v', help: 'print the version' },
} as const satisfies Record<string, Flag>

type Name = keyof typeof FLAGS
type Taking = {
  [name in Name]: (typeof FLAGS)[name] extends { value: string } ? name : never
}[Name]

export type Flags = { readonly [name in Name]?: name extends Taking ? string : boolean }

export const COMMANDS = ['serve', 'exec', 'openapi', 'copy'] as const
export type Command = (typeof COMMANDS)[number]

export interface CommandLine {
  readonly command: Command
  readonly flags: Flags
  /** What stands after `--`; of `copy`, the two storages. */
  readonly rest: readonly string[]
}

/**
 * Something typed, or a file it names, is not right: exit code 2. The message says how it would be.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** @throws UsageError naming what was typed and what would be right */
export function parseCommandLine(words: readonly string[]): CommandLine {
  const end = words.indexOf('--')
  const args = end < 0 ? [...words] : words.slice(0, end)
  const rest = end < 0 ? [] : words.slice(end + 1)
  const operands: string[] = []
  const { tokens } = parseArgs({ args, options: OPTIONS, strict: false, tokens: true })
  const flags: Record<string, string | boolean> = {}
  let command: Command | undefined
  for (const token of tokens) {
    if (token.kind === 'option') {
      const { name, rawName, value } = token
      const flag = KNOWN.get(name)
      if (!flag) throw new UsageError(`Unknown option ${rawName}; see --help`)
      if (name in flags && !flag.isList) {
        throw new UsageError(`${rawName} is given twice; give it once`)
      }
      if (flag.value && (value === undefined || value === '')) {
        throw new UsageError(`${rawName} needs a value: ${rawName} <${flag.value}>`)
      }
      if (!flag.value && value !== undefined) throw new UsageError(`${rawName} takes no value`)
      flags[name] = name in flags ? `${flags[name]},${value}` : (value ?? true)
    } else if (token.kind === 'positional') {
      const word = token.value as Command
      if (command === 'copy') {
        operands.push(word)
        continue
      }
      if (command === 'exec') throw new UsageError(`exec needs -- before its command: -- ${word}`)
      if (command || !COMMANDS.includes(word)) {
        throw new UsageError(`Unknown command '${word}'; commands are ${COMMANDS.join(', ')}`)
      }
      command = word
    }
  }
  const parsed: CommandLine = {
    command: command ?? 'serve',
    flags,
    rest: command === 'copy' ? [...operands, ...rest] : rest,
  }
  checkFit(parsed)
  return parsed
}

/** What `exec` decides by itself. */
const NOT_FOR_EXEC = [
  'port',
  'host',
  'store',
  'limits',
  'proxy-hops',
  'staging-port',
  'log',
  'quiet',
  'json',
] as const

function checkFit({ command, flags, rest }: CommandLine): void {
  const unfit = command === 'exec' ? NOT_FOR_EXEC : (['strict', 'allow'] as const)
  const given = unfit.find(name => flags[name] !== undefined)
  if (given) throw new UsageError(`--${given} does not go with ${command}`)
  if (flags.empty && flags.seed !== undefined) {
    throw new UsageError('--empty does not go with --seed; give one of them')
  }
  const [word] = rest
  if (command !== 'exec' && command !== 'copy' && word !== undefined) {
    throw new UsageError(`-- does not go with ${command}; to run a command: exec -- ${word}`)
  }
}

/** The number of a flag; undefined when it is not given. @throws UsageError */
export function wholeNumber(flags: Flags, name: Taking, maximum: number): number | undefined {
  const given = flags[name]
  if (given === undefined) return undefined
  if (/^\d+$/.test(given) && Number(given) <= maximum) return Number(given)
  throw new UsageError(`--${name} takes a whole number from 0 to ${maximum}, got '${given}'`)
}

export function helpText(): string {
  const rows = [...KNOWN].map(([name, flag]) => {
    const short = flag.short ? `-${flag.short}, ` : '    '
    return `  ${`${short}--${name}${flag.value ? ` <${flag.value}>` : ''}`.padEnd(28)} ${flag.help}`
  })
  return `Usage: animal-adoption-store [serve] [options]   serve the API on this machine
       animal-adoption-store exec [options] -- <command>
                                                 run a command with a store of its own
       animal-adoption-store copy <from> <to>    copy all animals into an empty store
       animal-adoption-store openapi             print its OpenAPI 3.1 description

${rows.join('\n')}
`
}

const KNOWN = new Map<string, Flag>(Object.entries(FLAGS))

const OPTIONS = Object.fromEntries(
  [...KNOWN].map(([name, { short, value }]) => [
    name,
    { type: value ? 'string' : 'boolean', ...(short && { short }) } as const,
  ]),
)
