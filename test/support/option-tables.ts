// The tables of options on the pages, written from the comments beside the declarations.
// Run as a program, by `npm run docs`, it writes them into the pages.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { COMMANDS, type Command, type CommandName } from '../../adapters/cli/commands.js'
import { signature } from '../../adapters/cli/help.js'
import { GENERAL, type Option, type Options } from '../../adapters/cli/options.js'
import { RULES } from '../../adapters/verdict/rules/index.js'
import { readPages } from './pages.js'
import { ROOT } from './paths.js'

/** An option as its declaration documents it. */
interface DocumentedOption {
  readonly name: string
  readonly meaning: string
  /** The text after `@default`, or 'required'. */
  readonly default: string
  /** The default in the code, where it is a literal. */
  readonly literal: string | undefined
}

/** A page with its tables below `<!-- options Name -->` and `<!-- flags command Group -->` written anew, and those of the verdict. */
export function withOptionTables(text: string): string {
  return text
    .replace(
      /^(<!-- options (\w+) -->\n)(?:\|.*\n)*/gm,
      (_, mark: string, name: string) => `${mark}${tableOf(documentedOptions(name))}`,
    )
    .replace(
      /^(<!-- flags (\w+) ([\w, ]+) -->\n)(?:\|.*\n)*/gm,
      (_, mark: string, command: string, names: string) => `${mark}${flagTable(command, names)}`,
    )
    .replace(/^(<!-- rules -->\n)(?:\|.*\n)*/gm, (_, mark: string) => mark + ruleTable())
    .replace(/^(<!-- judged -->\n)(?:\|.*\n)*/gm, (_, mark: string) => mark + judgedTable())
}

function ruleTable(): string {
  const rows = RULES.map(({ id, violatedBy }) => `| \`${id}\` | ${violatedBy} |\n`)
  return `| rule | violated by |\n|---|---|\n${rows.join('')}`
}

/** Rules that are judged in the same way share a row. */
function judgedTable(): string {
  const certainties = [...new Set(RULES.map(({ fromOutside = 'exact' }) => fromOutside))]
  const rows = certainties.map(certainty => {
    const rules = RULES.filter(({ fromOutside = 'exact' }) => fromOutside === certainty)
    return `| ${rules.map(({ id }) => `\`${id}\``).join(', ')} | ${certainty} |\n`
  })
  return `| rule | through \`judge\` |\n|---|---|\n${rows.join('')}`
}

function flagTable(command: string, names: string): string {
  const { groups = {} }: Command = COMMANDS[command as CommandName]
  const all: Readonly<Record<string, Options>> = { ...groups, General: GENERAL }
  const options = names.split(', ').map(group => all[group] ?? {})
  const rows = Object.entries<Option>(Object.assign({}, ...options)).map(([name, option]) => {
    const { help, short, default: standard } = option
    const flags = [...(short ? [`-${short}`] : []), signature(name, option)]
    const meaning = help.replaceAll(/[|<]/g, '\\$&') + (standard ? ` (\`${standard}\`)` : '')
    return `| ${flags.map(flag => `\`${flag.replaceAll('|', '\\|')}\``).join(', ')} | ${meaning} |\n`
  })
  if (options.some(group => Object.keys(group).length === 0)) {
    throw new Error(`No such group of ${command}: ${names}`)
  }
  return `| option | meaning |\n|---|---|\n${rows.join('')}`
}

/** The names of the tables of a page. */
export function optionTables(text: string): string[] {
  return [...text.matchAll(/^<!-- options (\w+) -->$/gm)].map(([, name = '']) => name)
}

/** The cells of a Markdown table, without its head. */
export function tableRows(table: string): string[][] {
  const [, , ...rows] = table.trim().split('\n')
  return rows.map(row => row.split(/(?<!\\)\|/).slice(1, -1))
}

/** The interfaces named `…Options` that the entry files of the package name. */
export function publicOptions(): string[] {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const entries = Object.values<string | { default: string }>(exports).map(entry =>
    (typeof entry === 'string' ? entry : entry.default).replace('./dist/', ''),
  )
  // The first entry exports all of the core.
  const names = SOURCES.filter(({ path }) =>
    ['src/index.js', ...entries].includes(path.replace(/\.ts$/, '.js')),
  ).flatMap(({ text }) => text.match(/\b\w+Options\b/g) ?? [])
  return [...new Set(names)].filter(name => bodyOf(name) !== undefined)
}

/** The options of an interface, without those it takes over from others. */
export function documentedOptions(interfaceName: string): DocumentedOption[] {
  const body = bodyOf(interfaceName)
  if (body === undefined) throw new Error(`No interface ${interfaceName} in src/ or adapters/`)
  const members = body.matchAll(
    /^ {2}(?:\/\*\*([\s\S]*?)\*\/\s*)?(?:\/\/.*\s*)*(?:readonly )?(\w+)(\??): (.*\n(?: {3,}.*\n| {2}\).*\n)*)/gm,
  )
  return [...members].map(([, doc = '', name = '', optional, code = '']) => {
    const [meaning = '', standard] = doc
      .replace(/\s+(?:\*\s+)*/g, ' ')
      .trim()
      .split(/ ?@default /)
    const isOptional = optional === '?' || /^(withDefault|optional)\(/.test(code)
    const literal = /^withDefault\([\s\S]*,\s*('[^'\n]*'|[\d_]+|true|false|null),?\s*\),?\s*$/.exec(
      code,
    )
    return {
      name,
      meaning,
      default: standard ?? (isOptional ? 'undocumented' : 'required'),
      literal: literal?.[1],
    }
  })
}

function tableOf(options: readonly DocumentedOption[]): string {
  const rows = options.map(
    ({ name, meaning, default: standard }) =>
      `| \`${name}\` | ${lowerFirst(meaning).replace(/\.$/, '').replaceAll('|', '\\|')} | ${codeFirst(standard)} |\n`,
  )
  return `| option | meaning | default |\n|---|---|---|\n${rows.join('')}`
}

/** A sentence as an entry of a table. */
function lowerFirst(text: string): string {
  return /^[A-Z][a-z ]/.test(text) ? text[0]?.toLowerCase() + text.slice(1) : text
}

/** Marks a literal or a constant as code, and leaves the words behind it. */
function codeFirst(text: string): string {
  return text.replace(
    /^('[^']*'|[\d_]+|true|false|null|[A-Z_]{2,}|\w+(?:\.\w+)*(?:\(.*\)|(?<=\.\w+)))(?=[,:]|$)/,
    '`$1`',
  )
}

const SOURCES = ['src', 'adapters'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => join(folder, path))
    .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
)

/** The text between the braces of an interface, or of the declaration that it is made from. */
function bodyOf(interfaceName: string): string | undefined {
  for (const { text } of SOURCES) {
    const found = new RegExp(
      `^export interface ${interfaceName}\\b([^{]*)\\{([\\s\\S]*?\\n|)\\}`,
      'm',
    ).exec(text)
    if (!found) continue
    const [, heritage = '', body = ''] = found
    const declared = /OptionsOf<typeof (\w+)>/.exec(heritage)?.[1]
    if (declared === undefined) return body
    return new RegExp(`const ${declared} = \\{\\n([\\s\\S]*?)^\\}`, 'm').exec(text)?.[1]
  }
  return undefined
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const { path, text } of readPages()) writeFileSync(join(ROOT, path), withOptionTables(text))
}
