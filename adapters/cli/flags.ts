import { parseArgs } from 'node:util'
import { distance, nearestFirst } from '../../src/lib/nearest.js'
import { describeProblem, type OptionProblem } from '../../src/lib/options.js'
import type { RateLimitMode } from '../../src/limits/mode.js'
import { withoutSecrets, withoutUrl } from './without-secrets.js'

export interface Flag {
  readonly short?: string
  /** The placeholder of its value in the help; a flag without one is on or off. */
  readonly value?: string
  /** The value of the bare flag. Only a word that begins with a digit counts as its value. */
  readonly alone?: string
  /** May be repeated; values are joined with commas. */
  readonly isList?: true
  readonly help: string
}

/** Every option of the command line. */
const FLAGS = {
  port: { short: 'p', value: 'n', help: 'port to listen on; 0 picks a free one (4280)' },
  host: { value: 'host', help: 'address to bind (127.0.0.1)' },
  store: { value: 'store', help: 'memory:, x.json, x.sqlite, postgres://… or postgres: (memory:)' },
  limits: { value: 'limits', help: 'counters: memory:, sqlite:x, redis://… or redis: (memory:)' },
  'require-limits': { help: 'exit with 1 if the server of --limits is unreachable at startup' },
  'proxy-hops': { value: 'n', help: 'trusted proxies in front of the server (0)' },
  seed: { value: 'file.json', help: 'animals for an empty store: an array of NewPet' },
  empty: { help: 'start without the demo animals' },
  keys: {
    value: 'file.json',
    help: 'keys instead of the demo keys: {"<key>": {"id": "ci", "plan": "pro"}}',
  },
  'rate-limit': {
    value: 'mode',
    help: 'on, off, or shadow: count and report, but reject nothing (on)',
  },
  'no-rate-limit': { help: 'the same as --rate-limit off: no limits, no headers' },
  'no-cors': { help: 'no CORS headers' },
  pagination: { help: 'add ?after=<id> and Link: rel="next" to lists' },
  idempotency: {
    value: 'duration',
    alone: '24h',
    help: 'store a create with an Idempotency-Key once, and keep the key (24h)',
  },
  delay: { value: 'ms', help: 'wait before every response' },
  control: { help: 'serve /_control: clock, faults, verdict, reset, snapshots' },
  clock: { value: 'instant', help: 'freeze the clock at this ISO instant; implies --control' },
  'staging-port': { value: 'n', help: 'serve a second, separate store on this port' },
  'no-console': { help: 'no console at / and no /_console' },
  console: {
    help: 'also serve it with --keys or to others, behind a token',
  },
  watch: { help: 'reload --seed and --keys when the files change' },
  drain: { value: 'duration', help: 'on SIGTERM, answer /readyz with 503 this long first (0s)' },
  metrics: { help: 'serve GET /metrics for Prometheus, over loopback only' },
  'metrics-host': {
    value: 'host',
    help: 'serve --metrics to others, on this <host>[:9464] instead',
  },
  log: { value: 'format', help: 'request log on stderr: pretty, json or silent (pretty)' },
  quiet: { short: 'q', help: 'no banner and no request log' },
  json: { help: 'print one line of JSON on stdout when ready' },
  through: {
    value: 'base-url',
    help: 'exec: judge against this server instead of a private store',
  },
  key: { value: 'key', help: 'exec --through: API key for the command' },
  'key-env': { value: 'NAME', help: 'exec --through: environment variable that holds it' },
  strict: {
    value: 'notes',
    alone: 'findings',
    help: 'exec: exit with 1 for a finding (=notes: or a note) or no call',
  },
  clients: { value: 'n', help: 'exec: how many clients share a key, for the verdict' },
  report: { value: 'file.json', help: 'exec: write the verdict as JSON' },
  junit: { value: 'file.xml', help: 'exec: write the verdict as JUnit XML' },
  record: { value: 'file.json', help: 'exec: record the run, for replay and diff' },
  har: { value: 'file.har', help: 'exec: write the exchanges as an HTTP archive' },
  allow: {
    value: 'rule',
    isList: true,
    help: 'exec: a rule that --strict forgives; may be repeated',
  },
  explore: { help: 'exec: run the command again and again, each time with other faults' },
  schedule: { value: 'schedule', help: "exec: run it with these faults: 'createPet#1=reset'" },
  faults: {
    value: 'fault',
    isList: true,
    help: 'exec --explore: what can go wrong, such as reset,status:503',
  },
  depth: { value: 'n', help: 'exec --explore: how many faults a run has at most (1)' },
  schedules: { value: 'n', help: 'exec --explore: how many runs there are at most' },
  jobs: { value: 'n', help: 'exec --explore: how many runs there are at a time (1)' },
  timeout: { value: 'duration', help: 'exec --explore: how long a run may take (60s)' },
  'require-faults': { help: 'exec: exit with 1 if an armed fault never fired' },
  help: { short: 'h', help: 'print this help' },
  version: { short: 'v', help: 'print the version' },
} as const satisfies Record<string, Flag>

type Name = keyof typeof FLAGS
type NameWithValue = {
  [name in Name]: (typeof FLAGS)[name] extends { value: string } ? name : never
}[Name]

export type Flags = { readonly [name in Name]?: name extends NameWithValue ? string : boolean }

export const COMMANDS = [
  'serve',
  'exec',
  'openapi',
  'copy',
  'check',
  'verify',
  'keys',
  'replay',
  'diff',
  'help',
  'version',
] as const
export type Command = (typeof COMMANDS)[number]

/** What people type for `serve`. */
const START = 'start'

export interface CommandLine {
  readonly command: Command
  /** Whether it was given: without one, it is `serve`. */
  readonly isNamed: boolean
  readonly flags: Flags
  /** The words after `--`; for `copy` and `check` the storages, for `help` a command. */
  readonly rest: readonly string[]
}

/** Invalid usage or input file: exit code 2. The message says how to fix it. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  /** The options to correct, such as `--port`. */
  readonly flags: readonly string[]

  constructor(message: string, ...flags: readonly string[]) {
    super(message)
    this.flags = flags
  }
}

/** The problem of an option in a program, with the option as it is on the command line. */
export function usageError(problem: OptionProblem, flag: string): UsageError {
  const { option, expected, got } = problem
  const shown = got === undefined ? undefined : withoutUrl(got)
  return new UsageError(describeProblem({ option, expected, got: shown }, flag), flag)
}

/**
 * @param fallback options from elsewhere, for those not given
 * @throws UsageError
 */
export function parseCommandLine(words: readonly string[], fallback: Flags = {}): CommandLine {
  const end = words.indexOf('--')
  const rest = end < 0 ? [] : words.slice(end + 1)
  const {
    command,
    isNamed,
    flags: given,
    operands,
  } = parseWords(end < 0 ? words : words.slice(0, end))
  const unfit = unfitFor(command, given.through ?? fallback.through)
  const fitting = Object.entries(fallback).filter(([name]) => !unfit.includes(name))
  const flags: Flags = { ...Object.fromEntries(fitting), ...given }
  const parsed: CommandLine = { command, isNamed, flags, rest: [...operands, ...rest] }
  checkCombination(parsed)
  return parsed
}

interface ParsedWords extends Pick<CommandLine, 'command' | 'isNamed' | 'flags'> {
  /** The words after `copy`, `check` or `help`. */
  readonly operands: readonly string[]
}

function parseWords(words: readonly string[]): ParsedWords {
  const operands: string[] = []
  let command: Command | undefined
  const flags = parseOptions(words, OPTIONS, word => {
    if (command === 'exec') {
      throw new UsageError(`exec needs -- before its command: exec -- ${withoutSecrets(word)}`)
    }
    if (command && TAKE_OPERANDS.includes(command)) operands.push(word)
    else if (command)
      throw new UsageError(`Unexpected '${withoutSecrets(word)}' after ${command}; see --help`)
    else command = readCommand(word)
    if (command && Object.hasOwn(OPERANDS, command)) {
      throw new UsageError(`${command} comes before its options: ${OPERANDS[command]}`)
    }
  })
  return { command: command ?? 'serve', isNamed: command !== undefined, flags, operands }
}

const TAKE_OPERANDS: readonly Command[] = ['copy', 'check', 'help']

const OPERANDS: { readonly [command in Command]?: string } = {
  verify: 'verify <base-url> [options]',
  keys: 'keys new|list|revoke <file.json> [options]',
  replay: 'replay <run.json> [options]',
  diff: 'diff <good.json> <bad.json>',
}

export type FlagTable = ReadonlyMap<string, Flag>

/**
 * The options among some words.
 *
 * @param operand receives every other word
 * @throws UsageError
 */
export function parseOptions(
  words: readonly string[],
  table: FlagTable,
  operand: (word: string) => void,
): Record<string, string | boolean> {
  const options = Object.fromEntries(
    [...table].map(([name, { short, value, alone }]) => [
      name,
      { type: value && !alone ? 'string' : 'boolean', ...(short && { short }) } as const,
    ]),
  )
  const { tokens } = parseArgs({ args: [...words], options, strict: false, tokens: true })
  const flags: Record<string, string | boolean> = {}
  let alone: string | undefined
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (alone !== undefined && /^\d/.test(token.value)) flags[alone] = token.value
      else operand(token.value)
    }
    alone = undefined
    if (token.kind !== 'option') continue
    const { name, rawName, value } = token
    const given = readFlag(table, name, rawName, value)
    if (value === undefined && table.get(name)?.alone) alone = name
    if (name in flags && !table.get(name)?.isList) {
      throw new UsageError(`${rawName} is given twice; give it once`)
    }
    flags[name] = name in flags ? `${flags[name]},${given}` : given
  }
  return flags
}

/** @throws UsageError */
export function readCommand(word: string): Command {
  const command = COMMANDS.find(known => known === word)
  if (command) return command
  if (word === START) return 'serve'
  const hint = suggest(word, [...COMMANDS, START]) ?? `expected one of ${COMMANDS.join(', ')}`
  throw new UsageError(`Unknown command '${withoutSecrets(word)}'; ${hint}`)
}

function readFlag(
  table: FlagTable,
  name: string,
  rawName: string,
  value: string | undefined,
): string | boolean {
  const flag = table.get(name)
  if (!flag) {
    const names = [...table.keys()].map(known => `--${known}`)
    throw new UsageError(`Unknown option ${rawName}; ${suggest(rawName, names) ?? 'see --help'}`)
  }
  if (value === undefined && flag.alone) return flag.alone
  if (flag.value && (value === undefined || value === '')) {
    throw new UsageError(`${rawName} needs a value: ${rawName} <${flag.value}>`)
  }
  if (!flag.value && value !== undefined) throw new UsageError(`${rawName} takes no value`)
  return value ?? true
}

/** Undefined when no known name is close enough to be what was meant. */
function suggest(typed: string, names: readonly string[]): string | undefined {
  const [nearest = ''] = nearestFirst(typed, names)
  const isClose = distance(typed, nearest) <= Math.max(2, nearest.length / 3)
  return isClose ? `did you mean ${nearest}?` : undefined
}

/** Options that `exec` sets itself, and options that only `exec` takes. */
export const UNFIT = {
  exec: [
    'port',
    'host',
    'store',
    'limits',
    'require-limits',
    'proxy-hops',
    'staging-port',
    'no-console',
    'console',
    'watch',
    'drain',
    'metrics',
    'metrics-host',
    'log',
    'quiet',
    'json',
  ],
  others: [
    'through',
    'key',
    'key-env',
    'strict',
    'allow',
    'clients',
    'report',
    'junit',
    'record',
    'har',
    'require-faults',
    'explore',
    'schedule',
    'faults',
    'depth',
    'schedules',
    'jobs',
    'timeout',
  ],
} as const satisfies Record<string, readonly Name[]>

/** All that some commands take, besides `--help` and `--version`. */
export const FEW = {
  openapi: ['keys', 'rate-limit', 'no-rate-limit', 'pagination', 'idempotency'],
  copy: [],
  check: [],
  help: [],
  version: [],
} as const satisfies { readonly [command in Command]?: readonly Name[] }

/** `--through` starts no store, so the options of a store do not apply. */
const WITH_THROUGH: readonly string[] = [
  'through',
  'key',
  'key-env',
  'pagination',
  'strict',
  'allow',
  'clients',
  'report',
  'junit',
  'help',
  'version',
]
const ONLY_WITH_THROUGH = ['key', 'key-env']

function unfitFor(command: Command, through: string | undefined): readonly string[] {
  if (Object.hasOwn(FEW, command)) {
    const few: readonly string[] = [...FEW[command as keyof typeof FEW], 'help', 'version']
    return [...OPTIONS.keys()].filter(name => !few.includes(name))
  }
  if (command !== 'exec') return UNFIT.others
  if (through === undefined) return [...UNFIT.exec, ...ONLY_WITH_THROUGH]
  return [...OPTIONS.keys()].filter(name => !WITH_THROUGH.includes(name))
}

function unfitReason(name: string, { command, flags }: CommandLine): string {
  const ofExec: readonly string[] = UNFIT.others
  if (command !== 'exec' && ofExec.includes(name)) {
    return 'works with exec only: exec [options] -- <command>'
  }
  if (command !== 'exec') return `cannot be combined with ${command}`
  if (flags.through !== undefined) return `cannot be combined with --through: ${elsewhere(name)}`
  if (ONLY_WITH_THROUGH.includes(name)) return 'works with --through <base-url> only'
  return 'cannot be combined with exec'
}

function elsewhere(name: string): string {
  if (name === 'har') return 'it keeps no bodies; --report has the requests of each finding'
  return 'the store is elsewhere'
}

function checkCombination(line: CommandLine): void {
  const { command, flags, rest } = line
  const given = Object.keys(flags).filter(name => flags[name as Name])
  const unfit = unfitFor(command, flags.through).find(name => given.includes(name))
  if (unfit) throw new UsageError(`--${unfit} ${unfitReason(unfit, line)}`, `--${unfit}`)
  if (flags.empty && flags.seed !== undefined) {
    throw new UsageError(
      '--empty cannot be combined with --seed; use only one',
      '--empty',
      '--seed',
    )
  }
  if (flags.console && flags['no-console']) {
    throw new UsageError(
      '--console cannot be combined with --no-console; use only one',
      '--console',
      '--no-console',
    )
  }
  const file = flags.record === undefined ? 'har' : 'record'
  if (flags.explore && flags[file] !== undefined) {
    throw new UsageError(
      `--explore cannot be combined with --${file}; repeat one run with --schedule and add it there`,
      '--explore',
      `--${file}`,
    )
  }
  if (flags.explore && flags.schedule !== undefined) {
    throw new UsageError(
      '--explore cannot be combined with --schedule; use only one',
      '--explore',
      '--schedule',
    )
  }
  if (flags.explore && flags['require-faults']) {
    throw new UsageError(
      '--explore cannot be combined with --require-faults; a run may not need every fault that the command arms, so run it once without --explore',
      '--explore',
      '--require-faults',
    )
  }
  const ofExplore = ['faults', 'depth', 'schedules', 'jobs', 'timeout'] as const
  const alone = flags.explore ? undefined : ofExplore.find(name => flags[name] !== undefined)
  if (alone) throw new UsageError(`--${alone} needs --explore`, `--${alone}`)
  if (flags['metrics-host'] !== undefined && !flags.metrics) {
    throw new UsageError('--metrics-host needs --metrics', '--metrics-host')
  }
  const { watch, seed, keys } = flags
  if (watch && command === 'serve' && seed === undefined && keys === undefined) {
    throw new UsageError(
      '--watch needs a file to watch: add --seed <file.json> or --keys <file.json>',
      '--watch',
    )
  }
  if (flags['require-limits'] && !/^(redis|valkey)/.test(flags.limits ?? '')) {
    throw new UsageError(
      '--require-limits needs counters on a server: add --limits redis://…',
      '--require-limits',
    )
  }
  const [word] = rest
  if (!['exec', ...TAKE_OPERANDS].includes(command) && word !== undefined) {
    throw new UsageError(
      `-- cannot be combined with ${command}; to run a command: exec -- ${withoutSecrets(word)}`,
    )
  }
}

/** @throws UsageError */
export function rateLimitMode(flags: Flags): RateLimitMode {
  const isOff = flags['no-rate-limit'] === true
  const given = flags['rate-limit'] ?? (isOff ? 'off' : 'on')
  const mode = Object.hasOwn(RATE_LIMIT_MODES, given) ? RATE_LIMIT_MODES[given] : undefined
  if (mode === undefined) {
    throw new UsageError(
      `--rate-limit takes on, off or shadow, got '${withoutUrl(given)}'`,
      '--rate-limit',
    )
  }
  if (!isOff || mode === false) return mode
  throw new UsageError(
    `--no-rate-limit cannot be combined with --rate-limit ${given}; use only one`,
    '--no-rate-limit',
    '--rate-limit',
  )
}

const RATE_LIMIT_MODES: Readonly<Record<string, RateLimitMode>> = {
  on: true,
  off: false,
  shadow: 'shadow',
}

/** The number given to a flag; undefined without the flag. @throws UsageError */
export function wholeNumber<N extends string>(
  flags: { readonly [name in N]?: string },
  name: N,
  maximum: number,
  minimum = 0,
): number | undefined {
  const given = flags[name]
  if (given === undefined) return undefined
  const number = Number(given)
  if (/^\d+$/.test(given) && number >= minimum && number <= maximum) return number
  throw new UsageError(
    `--${name} takes a whole number from ${minimum} to ${maximum}, got '${withoutUrl(given)}'`,
    `--${name}`,
  )
}

/** Every option by name. */
export const OPTIONS: FlagTable = new Map(Object.entries(FLAGS))
