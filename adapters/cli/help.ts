import { COMMANDS, type Command, type CommandName } from './commands.js'
import { flagOf, GENERAL, type Option, type Options } from './options.js'

const PROGRAM = 'animal-adoption-store'
const WIDTH = 80
const INDENT = 31

/** @param name of the command; if omitted, lists all commands */
export function helpText(name?: CommandName): string {
  if (name === undefined || name === 'help' || name === 'version') return listOfCommands()
  const { usage, does, more = '', examples = [], groups = {}, variables }: Command = COMMANDS[name]
  const tables = Object.entries<Options>({ ...groups, General: GENERAL })
  return sections(
    `Usage: ${PROGRAM} ${usage}`,
    wrapped(`${does.charAt(0).toUpperCase()}${does.slice(1)}. ${more}`),
    examplesText(examples),
    ...tables.map(([title, options]) => `${title}:\n${rowsOf(options)}`),
    variables === 'all' ? wrapped(VARIABLES) : '',
  )
}

const VARIABLES =
  'An option may also come from the environment: ADOPTION_STORE_KEYS for --keys, ADOPTION_STORE_PAGINATION=1 for --pagination. PORT and HOST work as well.'

function listOfCommands(): string {
  const rows = Object.entries<Command>(COMMANDS).map(([name, { does }]) => row(name, does))
  return sections(
    `Usage: ${PROGRAM} [command] [options]`,
    `Commands:\n${rows.join('\n')}`,
    examplesText(['serve', 'exec -- npm test']),
    `For its options: ${PROGRAM} help <command>. The default is serve.`,
  )
}

function sections(...texts: readonly string[]): string {
  return `${texts.filter(text => text !== '').join('\n\n')}\n`
}

function examplesText(examples: readonly string[]): string {
  return `Examples:\n${examples.map(example => `  ${PROGRAM} ${example}`).join('\n')}`
}

function rowsOf(options: Options): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const short = option.short ? `-${option.short}, ` : '    '
    const standard = option.default ? ` (${option.default.replaceAll(',', ', ')})` : ''
    return row(`${short}${signature(name, option)}`, `${option.help}${standard}`)
  })
  return rows.join('\n')
}

function row(left: string, right: string): string {
  const text = wrapped(right, WIDTH - INDENT).replaceAll('\n', `\n${' '.repeat(INDENT)}`)
  return `  ${left}`.padEnd(INDENT) + text
}

function wrapped(text: string, width = WIDTH): string {
  const lines: string[] = []
  for (const word of text.trim().split(' ')) {
    const line = [...lines.slice(-1), word].join(' ')
    if (lines.length > 0 && line.length <= width) lines.splice(-1, 1, line)
    else lines.push(word)
  }
  return lines.join('\n')
}

export function signature(name: string, { value, alone }: Option): string {
  const flag = flagOf(name)
  if (value === undefined) return flag
  return alone ? `${flag}[=${value}]` : `${flag} <${value}>`
}
