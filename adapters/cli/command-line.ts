import { parseArgs } from 'node:util'
import { distance, nearestFirst } from '../../src/lib/nearest.js'
import { COMMANDS, type Command, type CommandName, WITH_THROUGH } from './commands.js'
import { flagOf, type Option, type Options, readOption } from './option.js'
import { CONFLICTS, GENERAL } from './options.js'
import { UsageError } from './usage-error.js'
import { withoutSecrets, withoutUrl } from './without-secrets.js'

export interface CommandLine {
  readonly command: CommandName
  /** Whether it was given: without one, it is `serve`. */
  readonly isNamed: boolean
  /** The texts of the options that were given, by name. */
  readonly given: ReadonlyMap<string, string>
  /** The variable that an option came from, by its flag. */
  readonly variables: ReadonlyMap<string, string>
  /** The words that are no options. */
  readonly operands: readonly string[]
  /** The words after `--`. */
  readonly last: readonly string[]
}

/**
 * Reads which options are given, not their values: options of the environment, such as
 * `ADOPTION_STORE_STAGING_PORT` for `--staging-port`, count where the command takes them.
 *
 * @throws UsageError
 */
export function parseCommandLine(
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): CommandLine {
  const end = words.includes('--') ? words.indexOf('--') : words.length
  const { command, isNamed, rest } = findCommand(words.slice(0, end))
  const { given, operands } = parseWords(rest, command)
  const variables = variablesOf(command, environment).filter(({ name }) => !given.has(name))
  const all = new Map([...variables.map(({ name, text }) => [name, text] as const), ...given])
  const isUnmet = (name: string) => {
    const { needs = name } = optionsOf(command)[name] as Option
    return !all.has(needs) || (all.has('through') && !WITH_THROUGH.includes(name))
  }
  for (const { name } of variables) if (isUnmet(name)) all.delete(name)
  const unmet = [...given.keys()].find(isUnmet)
  if (unmet !== undefined) throw unmetError(command, unmet, all.has('through'))
  if (command === 'exec' && operands[0]) {
    const word = withoutSecrets(operands[0].word)
    throw new UsageError(`exec needs -- before its command: exec -- ${word}`)
  }
  return {
    command,
    isNamed,
    given: all,
    variables: new Map(variables.map(({ name, variable }) => [flagOf(name), variable])),
    operands: operands.map(({ word }) => word),
    last: words.slice(end + 1),
  }
}

/** The values of all options of a command, checked together. @throws UsageError */
export function readSettings(line: CommandLine): Record<string, unknown> {
  const { command, given } = line
  checkOperands(line)
  for (const [one, other, instead] of CONFLICTS) {
    if (!given.has(one) || !given.has(other)) continue
    const flags = [flagOf(one), flagOf(other)]
    throw new UsageError(`${flags.join(' cannot be combined with ')}; ${instead}`, ...flags)
  }
  const options = Object.entries(optionsOf(command))
  return Object.fromEntries(
    options.map(([name, option]) => [name, readOption(name, option, given.get(name))]),
  )
}

/** @throws UsageError */
export function readCommand(word: string): CommandName {
  // What people type for `serve`.
  if (word === 'start') return 'serve'
  if (Object.hasOwn(COMMANDS, word)) return word as CommandName
  const names = Object.keys(COMMANDS)
  const hint = suggest(word, [...names, 'start']) ?? `expected one of ${names.join(', ')}`
  throw new UsageError(`Unknown command '${withoutSecrets(word)}'; ${hint}`)
}

function optionsOf(name: CommandName): Options {
  const { groups }: Command = COMMANDS[name]
  return Object.assign({}, ...Object.values(groups), GENERAL)
}

function findCommand(words: readonly string[]) {
  // Its own options may follow, which differ from those that may stand before a command.
  const [first] = words[0]?.startsWith('-') ? parseWords(words).operands : operandsAt(words[0])
  if (!first) return { command: 'serve' as const, isNamed: false, rest: words }
  const rest = words.toSpliced(first.at, 1)
  return { command: readCommand(first.word), isNamed: true, rest }
}

function operandsAt(word: string | undefined): readonly Operand[] {
  return word === undefined ? [] : [{ word, at: 0 }]
}

interface Operand {
  readonly word: string
  readonly at: number
}

/** @param command whose options they are; without it, those that may stand before a command */
function parseWords(words: readonly string[], command?: CommandName) {
  const table = command ? optionsOf(command) : { ...optionsOf('serve'), ...optionsOf('exec') }
  const names = new Map(Object.keys(table).map(name => [flagOf(name).slice(2), name]))
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      [...names].map(([flag, name]) => {
        const { value, alone, short } = table[name] as Option
        return [flag, { type: value && !alone ? 'string' : 'boolean', ...(short && { short }) }]
      }),
    ),
    strict: false,
    tokens: true,
  })
  const given = new Map<string, string>()
  const operands: Operand[] = []
  let alone: string | undefined
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (alone !== undefined && /^\d|:/.test(token.value)) given.set(alone, token.value)
      else operands.push({ word: token.value, at: token.index })
    }
    alone = undefined
    if (token.kind !== 'option') continue
    const name = names.get(token.name)
    const option = table[name ?? '']
    if (name === undefined || !option) throw unknownOption(token, [...names.keys()])
    if (given.has(name) && !option.kind.isList) {
      throw new UsageError(`${token.rawName} is given twice; give it once`)
    }
    const text = textOf(token, option)
    if (token.value === undefined && option.alone) alone = name
    given.set(name, given.has(name) ? `${given.get(name)},${text}` : text)
  }
  return { given, operands }
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value?: string | undefined
}

function textOf({ rawName, value }: OptionToken, option: Option): string {
  if (option.value === undefined && value !== undefined) {
    throw new UsageError(`${rawName} takes no value`)
  }
  if (value === undefined && (option.alone || option.value === undefined)) return option.alone ?? ''
  if (value) return value
  throw new UsageError(`${rawName} needs a value: ${rawName} <${option.value}>`)
}

function unknownOption({ name, rawName }: OptionToken, known: readonly string[]): UsageError {
  const takers = Object.keys(COMMANDS).filter(taker =>
    Object.keys(optionsOf(taker as CommandName)).some(own => flagOf(own) === `--${name}`),
  )
  if (takers.length > 0) {
    return new UsageError(`${rawName} works with ${takers.join(' and ')} only`)
  }
  const hint = suggest(
    rawName,
    known.map(flag => `--${flag}`),
  )
  return new UsageError(`Unknown option ${rawName}; ${hint ?? 'see --help'}`)
}

function unmetError(command: CommandName, name: string, isThrough: boolean): UsageError {
  const flag = flagOf(name)
  const { needs } = optionsOf(command)[name] as Option
  if (!isThrough && needs) return new UsageError(`${flag} needs ${flagOf(needs)}`, flag)
  const reason =
    name === 'har'
      ? 'it keeps no bodies; --report has the requests of each finding'
      : 'the store is elsewhere'
  const message = `${flag} cannot be combined with --through: ${reason}`
  return new UsageError(message, flag, '--through')
}

/** @throws UsageError */
function checkOperands({ command, operands, last }: CommandLine): void {
  const { usage, operands: taken }: Command = COMMANDS[command]
  const words = [...operands, ...last]
  const [least, most] = taken
  if (command === 'exec' || (words.length >= least && words.length <= most)) return
  if (most > 0) throw new UsageError(`Expected ${usage}; see ${command} --help`)
  const word = withoutSecrets(String(words[0]))
  throw new UsageError(
    last.length > 0
      ? `-- cannot be combined with ${command}; to run a command: exec -- ${word}`
      : `Unexpected '${word}' after ${command}; see --help`,
  )
}

/** Undefined when no known name is close enough to be what was meant. */
function suggest(typed: string, names: readonly string[]): string | undefined {
  const [nearest = ''] = nearestFirst(typed, names)
  const isClose = distance(typed, nearest) <= Math.max(2, nearest.length / 3)
  return isClose ? `did you mean ${nearest}?` : undefined
}

interface Variable {
  readonly name: string
  readonly variable: string
  readonly text: string
}

/** `PORT` and `HOST` as hosting platforms set them, too. An empty variable counts as not set. */
function variablesOf(command: CommandName, environment: NodeJS.ProcessEnv): readonly Variable[] {
  const { hasVariables, groups }: Command = COMMANDS[command]
  if (!hasVariables) return []
  return Object.entries<Option>(Object.assign({}, ...Object.values(groups))).flatMap(
    ([name, option]) => {
      const general = flagOf(name).slice(2).toUpperCase().replaceAll('-', '_')
      const names = [`ADOPTION_STORE_${general}`, ...(/^(port|host)$/.test(name) ? [general] : [])]
      const variable = names.find(known => environment[known])
      const given = variable && environment[variable]
      if (!variable || !given) return []
      const text = variableText(variable, given, option)
      return text === undefined ? [] : [{ name, variable, text }]
    },
  )
}

/** Undefined for a switch that is off; an option that may stand alone is a switch, too. */
function variableText(variable: string, given: string, option: Option): string | undefined {
  if (option.value !== undefined && !option.alone) return given
  if (/^(1|true)$/i.test(given)) return option.alone ?? ''
  if (/^(0|false)$/i.test(given)) return undefined
  if (option.alone) return given
  throw new UsageError(`${variable} takes 1 or 0, got '${withoutUrl(given)}'`)
}
