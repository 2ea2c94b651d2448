import { type Command, FEW, type FlagTable, OPTIONS, UNFIT } from './flags.js'

/** How a command is used. */
interface Manual {
  /** What follows the name of the program. */
  readonly usage: string
  readonly does: string
  /** What else its own page says. */
  readonly more?: string
  readonly flags: readonly string[]
}

const FLAGS = [...OPTIONS.keys()]

const MANUALS: Readonly<Record<Exclude<Command, 'help' | 'version'>, Manual>> = {
  serve: {
    usage: '[serve] [options]',
    does: 'serve the API on this machine',
    flags: without(UNFIT.others),
  },
  exec: {
    usage: 'exec [options] -- <command>',
    does: 'run a command against a private store',
    more: `The command finds the store by ADOPTION_STORE_BASE_URL, ADOPTION_STORE_API_KEY and
ADOPTION_STORE_CONTROL_URL. Exit codes: that of the command, 1 when an option below says so.`,
    flags: without(UNFIT.exec),
  },
  copy: {
    usage: 'copy <from> <to>',
    does: 'copy all animals into an empty store',
    more: 'A store is x.json, x.sqlite, postgres://… or postgres:, as for --store.',
    flags: [...FEW.copy, 'help'],
  },
  check: {
    usage: 'check <store>',
    does: 'read all of a store, and say what is damaged',
    more: 'A store is x.json, x.sqlite, postgres://… or postgres:, as for --store.',
    flags: [...FEW.check, 'help'],
  },
  verify: {
    usage: 'verify <base-url> [options]',
    does: 'check any server of this API; see verify --help',
    flags: [],
  },
  keys: {
    usage: 'keys new|list|revoke <file.json>',
    does: 'manage a file of --keys; see keys --help',
    flags: [],
  },
  replay: {
    usage: 'replay <run.json> [options]',
    does: 'open the console after a step of exec --record',
    flags: [],
  },
  diff: {
    usage: 'diff <good.json> <bad.json>',
    does: 'name the first step in which two runs differ',
    flags: [],
  },
  openapi: {
    usage: 'openapi',
    does: 'print the OpenAPI 3.1 description',
    flags: [...FEW.openapi, 'help'],
  },
}

const PROGRAM = 'animal-adoption-store'

/** @param command whose page it is; without one, everything */
export function helpText(command?: Command): string {
  const manual = isDescribed(command) ? MANUALS[command] : undefined
  if (!manual) {
    const usages = Object.values(MANUALS).map(usageRow)
    const rows = [...usages, `${PROGRAM} help [command] | version`]
    return `Usage: ${rows.join('\n       ')}\n\n${helpRows(OPTIONS)}\n\n${fromEnvironment(FLAGS)}`
  }
  const { usage, does, more, flags } = manual
  const table = new Map([...OPTIONS].filter(([name]) => flags.includes(name)))
  const sentence = `${does.charAt(0).toUpperCase()}${does.slice(1)}.`
  const text = more === undefined ? sentence : `${sentence}\n${more}`
  const environment = flags.length > 1 ? `\n${fromEnvironment(flags)}` : ''
  return `Usage: ${PROGRAM} ${usage}\n\n${text}\n\n${helpRows(table)}\n${environment}`
}

function isDescribed(command: Command | undefined): command is keyof typeof MANUALS {
  return command !== undefined && Object.hasOwn(MANUALS, command)
}

function fromEnvironment(flags: readonly string[]): string {
  const listens = flags.includes('port') ? '; PORT and HOST work as well' : ''
  return `An option that is not given comes from the environment: ADOPTION_STORE_KEYS for --keys,
ADOPTION_STORE_NO_RATE_LIMIT=1 for --no-rate-limit and so on${listens}.
`
}

/** Where the descriptions begin. */
const COLUMN = 42

function usageRow({ usage, does }: Manual): string {
  const words = `${PROGRAM} ${usage}`
  const gap = words.length + 3 > COLUMN ? `\n${' '.repeat(COLUMN + 7)}` : ''
  return gap === '' ? words.padEnd(COLUMN) + does : words + gap + does
}

function without(unfit: readonly string[]): readonly string[] {
  return FLAGS.filter(name => !unfit.includes(name))
}

/** One line for each option. */
export function helpRows(table: FlagTable): string {
  const rows = [...table].map(([name, flag]) => {
    const short = flag.short ? `-${flag.short}, ` : '    '
    const value = flag.alone ? ` [${flag.value}]` : flag.value ? ` <${flag.value}>` : ''
    return `  ${`${short}--${name}${value}`.padEnd(28)} ${flag.help}`
  })
  return rows.join('\n')
}
