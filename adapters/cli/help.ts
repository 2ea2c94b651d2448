import { COMMANDS, type Command, type CommandName } from './commands.js'
import { flagOf, type Option, type Options } from './option.js'
import { GENERAL } from './options.js'

const PROGRAM = 'animal-adoption-store'

/** @param name whose help it is; without one, that of `serve` and `exec` and a list of all commands */
export function helpText(name?: CommandName): string {
  const command: Command | undefined = name && COMMANDS[name]
  if (!command || name === 'help' || name === 'version') return generalHelp()
  const { usage, does, more, groups, hasVariables } = command
  const sentence = `${does.charAt(0).toUpperCase()}${does.slice(1)}.`
  const description = more === undefined ? sentence : `${sentence}\n${more}`
  const tables = groupsText({ ...groups, General: GENERAL })
  return sections(
    `Usage: ${PROGRAM} ${usage}`,
    description,
    tables,
    hasVariables && variablesText(Object.assign({}, ...Object.values(groups))),
  )
}

function generalHelp(): string {
  const usages = Object.values<Command>(COMMANDS).map(({ usage, does }) => {
    const words = `${PROGRAM} ${usage}`
    return words.length < COLUMN ? words.padEnd(COLUMN) + does : `${words}\n${INDENT}${does}`
  })
  const { Store, ...ofExec } = COMMANDS.exec.groups
  const prefixed = Object.entries(ofExec).map(([title, options]) => [`${title} (exec)`, options])
  const groups = { ...COMMANDS.serve.groups, ...Object.fromEntries(prefixed), General: GENERAL }
  return sections(
    `Usage: ${usages.join('\n       ')}`,
    groupsText(groups),
    variablesText(Object.assign({}, ...Object.values(groups))),
  )
}

/** Where the descriptions of the commands begin. */
const COLUMN = 44
const INDENT = ' '.repeat(COLUMN + 'Usage: '.length)

function sections(...texts: readonly (string | undefined | false)[]): string {
  return `${texts.filter(text => text).join('\n\n')}\n`
}

function groupsText(groups: Readonly<Record<string, Options>>): string {
  const texts = Object.entries(groups).map(([title, options]) => {
    const rows = Object.entries(options).map(([name, option]) => rowOf(name, option))
    return `${title}:\n${rows.join('\n')}`
  })
  return texts.join('\n\n')
}

function rowOf(name: string, option: Option): string {
  const short = option.short ? `-${option.short}, ` : '    '
  const standard = option.default ? ` (${option.default})` : ''
  return `  ${`${short}${signature(name, option)}`.padEnd(28)} ${option.help}${standard}`
}

/** Such as `--port <n>`. */
export function signature(name: string, { value, alone }: Option): string {
  const flag = flagOf(name)
  if (value === undefined) return flag
  return alone ? `${flag}[=${value}]` : `${flag} <${value}>`
}

function variablesText(options: Options): string {
  const listens = 'port' in options ? '; PORT and HOST work as well' : ''
  return `An option that is not given comes from the environment: ADOPTION_STORE_KEYS for --keys,
ADOPTION_STORE_PAGINATION=1 for --pagination and so on${listens}.`
}
