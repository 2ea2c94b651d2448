import { isIP } from 'node:net'
import { nearest } from '../../src/lib/did-you-mean.js'
import { COMMANDS, type Command, type CommandName } from './commands.js'
import { flagOf, GENERAL, type Option, type Options, readOption } from './options.js'
import { UsageError, withoutSecrets } from './usage-error.js'

export interface CommandLine {
  readonly command: CommandName
  /** True if the command was named: otherwise it is `exec` before `--`, and `serve` without. */
  readonly isNamed: boolean
  readonly given: ReadonlyMap<string, string>
  /** Environment variable that set an option, by flag. */
  readonly variables: ReadonlyMap<string, string>
  readonly operands: readonly string[]
  readonly last: readonly string[]
}

/**
 * Reads which options are given, not their values. Missing options come from the environment, such
 * as `ADOPTION_STORE_STAGING_PORT` for `--staging-port`, unless given ones contradict them.
 */
export function parseCommandLine(
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): CommandLine {
  const end = words.includes('--') ? words.indexOf('--') : words.length
  const own = words.slice(0, end)
  // Options may precede the command.
  const at = own[0]?.startsWith('-') ? own.findIndex(isCommand) : own.length > 0 ? 0 : -1
  const unnamed = words.includes('--') ? 'exec' : 'serve'
  const command = at < 0 ? unnamed : readCommand(String(own[at]))
  const { given, operands } = parseWords(at < 0 ? own : own.toSpliced(at, 1), command)
  const options = optionsOf(command)
  const found = variablesOf(command, environment)
  const known = new Set([...given.keys(), ...found.map(({ name }) => name)])
  const inherited = found.filter(({ name }) => {
    const { needs = name, excludes = [] } = options[name] as Option
    const isExcluded = [...given.keys()].some(
      other => excludes.includes(other) || options[other]?.excludes?.includes(name),
    )
    return !given.has(name) && !isExcluded && known.has(needs)
  })
  return {
    command,
    isNamed: at >= 0,
    given: new Map([...inherited.map(({ name, text }) => [name, text] as const), ...given]),
    variables: new Map(inherited.map(({ name, variable }) => [flagOf(name), variable])),
    operands,
    last: words.slice(end + 1),
  }
}

export function readSettings(line: CommandLine): Record<string, unknown> {
  const { command, given } = line
  checkOperands(line)
  const options = Object.entries(optionsOf(command))
  for (const [name, { needs = name, excludes = [] }] of options) {
    if (!given.has(name)) continue
    if (!given.has(needs)) throw new UsageError(`${flagOf(name)} needs ${flagOf(needs)}`)
    const other = excludes.find(one => given.has(one))
    if (other === undefined) continue
    throw new UsageError(`${flagOf(name)} cannot be combined with ${flagOf(other)}; use only one`)
  }
  return Object.fromEntries(
    options.map(([name, option]) => [name, readOption(name, option, given.get(name))]),
  )
}

export function readCommand(word: string): CommandName {
  if (word === 'start') return 'serve'
  if (isCommand(word)) return word as CommandName
  const isOption = Object.hasOwn(optionsOf('exec'), word)
  const ofExec = isOption ? word : word === 'judge' ? 'through' : undefined
  const meant = ofExec ? `exec --${ofExec}` : nearest(word, [...Object.keys(COMMANDS), 'start'])
  throw new UsageError(`Unknown command '${withoutSecrets(word)}'${suggestion(meant)}`)
}

function isCommand(word: string): boolean {
  return word === 'start' || Object.hasOwn(COMMANDS, word)
}

function optionsOf(name: CommandName): Options {
  const { groups = {} }: Command = COMMANDS[name]
  return Object.assign({}, ...Object.values(groups), GENERAL)
}

function parseWords(words: readonly string[], command: CommandName) {
  const options = Object.entries(optionsOf(command))
  const given = new Map<string, string>()
  const operands: string[] = []
  const left = [...words]
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    const [, flag, attached] = /^(-[a-z]|--[^=]+)(?:=(.*))?$/is.exec(word) ?? []
    if (flag === undefined) {
      operands.push(word)
      continue
    }
    const [name, option] =
      options.find(([name, { short }]) => flag === flagOf(name) || flag === `-${short}`) ?? []
    if (name === undefined || !option) throw unknownOption(flag, options)
    const text = textOf(flag, option, attached, left)
    const before = given.get(name)
    if (before !== undefined && option.value && !option.kind.isList)
      throw new UsageError(`${flagOf(name)} takes one value, but was given twice`)
    given.set(name, option.kind.isList && before ? `${before},${text}` : text)
  }
  return { given, operands }
}

/** @param left following words, from which the option's value is removed */
function textOf(
  flag: string,
  { value, alone }: Option,
  attached: string | undefined,
  left: string[],
): string {
  if (value === undefined && attached !== undefined) throw new UsageError(`${flag} takes no value`)
  if (value === undefined) return ''
  if (alone && attached === undefined)
    return /^\d|:/.test(left[0] ?? '') ? `${left.shift()}` : alone
  const text = attached ?? (left[0]?.startsWith('--') ? undefined : left.shift())
  if (text) return text
  throw new UsageError(`${flag} needs a value: ${flag} <${value}>`)
}

function unknownOption(flag: string, options: readonly [name: string, option: Option][]) {
  const takers = Object.keys(COMMANDS).filter(taker =>
    Object.keys(optionsOf(taker as CommandName)).some(own => flagOf(own) === flag),
  )
  if (takers.length > 0) return new UsageError(`${flag} works with ${takers.join(' and ')} only`)
  const known = options.map(([name]) => flagOf(name))
  return new UsageError(`Unknown option ${flag}${suggestion(nearest(flag, known))}`)
}

function suggestion(meant: string | undefined): string {
  return meant === undefined ? '; see --help' : `; did you mean ${meant}? See --help`
}

function checkOperands({ command, isNamed, operands, last }: CommandLine): void {
  const { usage, operands: [least, most] = [0, 0] }: Command = COMMANDS[command]
  if (command === 'exec') {
    if (operands.length === 0) return
    const shown = withoutSecrets(operands.join(' '))
    throw new UsageError(`exec needs -- before its command: exec -- ${shown}`)
  }
  const count = operands.length + last.length
  if (count >= least && count <= most) return
  if (most > 0) throw new UsageError(`Expected ${usage}; see ${command} --help`)
  const word = String([...operands, ...last][0])
  if (!isNamed) readCommand(word)
  throw new UsageError(`Unexpected '${withoutSecrets(word)}' after ${command}; see --help`)
}

/** Includes `PORT` and `HOST`, which hosting platforms set. An empty variable counts as not set. */
function variablesOf(command: CommandName, environment: NodeJS.ProcessEnv) {
  const { variables = [], groups = {} }: Command = COMMANDS[command]
  const options = Object.entries<Option>(Object.assign({}, ...Object.values(groups))).filter(
    ([name]) => variables === 'all' || variables.includes(name),
  )
  const isOfPlatform = (name: string) => command === 'serve' && /^(port|host)$/.test(name)
  return options.flatMap(([name, option]) => {
    const general = flagOf(name).slice(2).toUpperCase().replaceAll('-', '_')
    const names = [`ADOPTION_STORE_${general}`, ...(isOfPlatform(name) ? [general] : [])]
    const variable = names.find(known => isSetting(known, environment[known])) ?? ''
    const given = environment[variable]
    const text = given && variableText(variable, given, option)
    return text === undefined ? [] : [{ name, variable, text }]
  })
}

/** Ignores `ADOPTION_STORE_PORT=tcp://…` of Kubernetes, and a `HOST` that is no address. */
function isSetting(variable: string, text = ''): boolean {
  if (variable === 'HOST') return text === 'localhost' || isIP(text) > 0
  return text !== '' && !text.startsWith('tcp://')
}

/** Undefined for a switch that is off; an option that may stand alone is a switch, too. */
function variableText(variable: string, given: string, option: Option): string | undefined {
  if (option.value !== undefined && !option.alone) return given
  if (/^(1|true)$/i.test(given)) return option.alone ?? ''
  if (/^(0|false)$/i.test(given)) return undefined
  if (option.alone) return given
  throw new UsageError(`${variable} takes 1 or 0, got '${withoutSecrets(given)}'`)
}
