import { COMMANDS, type Command, type CommandName } from './commands.js'
import { flagOf, GENERAL, type Option, type Options } from './options.js'

const PROGRAM = 'animal-adoption-store'

/** @param name whose help it is; without one, that of all commands */
export function helpText(name?: CommandName): string {
  const command: Command | undefined = name && COMMANDS[name]
  if (!command || name === 'help' || name === 'version') return generalHelp()
  const { usage, does, more, groups, hasVariables } = command
  const sentence = `${does.charAt(0).toUpperCase()}${does.slice(1)}.`
  const tables = Object.entries<Options>({ ...groups, General: GENERAL })
  return sections(
    `Usage: ${PROGRAM} ${usage}`,
    more === undefined ? sentence : `${sentence}\n${more}`,
    ...tables.map(([title, options]) => `${title}:\n${rowsOf(options)}`),
    hasVariables && variablesText('port' in Object.assign({}, ...Object.values(groups))),
  )
}

function generalHelp(): string {
  const rows = Object.values<Command>(COMMANDS).map(({ usage, does }) => {
    const [words = ''] = usage.split(' [options]')
    return row(words, does)
  })
  return sections(
    `Usage: ${PROGRAM} [command] [options]`,
    `Commands:\n${rows.join('\n')}`,
    `The options of a command: ${PROGRAM} <command> --help`,
  )
}

function sections(...texts: readonly (string | undefined | false)[]): string {
  return `${texts.filter(text => text).join('\n\n')}\n`
}

function rowsOf(options: Options): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const short = option.short ? `-${option.short}, ` : '    '
    const standard = option.default ? ` (${option.default})` : ''
    return row(`${short}${signature(name, option)}`, `${option.help}${standard}`)
  })
  return rows.join('\n')
}

const COLUMN = 31
const WIDTH = 80

/** Two columns, of which the second is wrapped. */
function row(left: string, right: string): string {
  const lines = ['']
  for (const word of right.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (line.length > WIDTH - COLUMN) lines.push(` ${word}`)
    else lines[lines.length - 1] = line
  }
  return `${`  ${left}`.padEnd(COLUMN)}${lines.join(`\n${' '.repeat(COLUMN)}`)}`
}

/** Such as `--port <n>`. */
export function signature(name: string, { value, alone }: Option): string {
  const flag = flagOf(name)
  if (value === undefined) return flag
  return alone ? `${flag}[=${value}]` : `${flag} <${value}>`
}

function variablesText(listens: boolean): string {
  return `Options that are not given come from the environment: ADOPTION_STORE_KEYS for
--keys, ADOPTION_STORE_PAGINATION=1 for --pagination${listens ? '; PORT and HOST work as well' : ''}.`
}
