import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Page } from './pages.js'
import { ROOT } from './paths.js'

/** An option as an interface declares it, or as a table shows it. */
export interface DocumentedOption {
  readonly name: string
  /** The literal or constant it begins with, 'required', or 'words' for anything else. */
  readonly default: string
}

/** The tables below a line `<!-- options Name -->`, by that name. */
export function optionTables({ text }: Page): Map<string, DocumentedOption[]> {
  const tables = text.matchAll(/^<!-- options (\w+) -->\n((?:\|.*\n)+)/gm)
  return new Map(
    [...tables].map(([, name = '', table = '']) => [
      name,
      tableRows(table).map(cells => ({
        name: plain(cells[0]),
        default: defaultOf(cells.at(-1)),
      })),
    ]),
  )
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
  const names = SOURCES.filter(({ path }) =>
    entries.includes(path.replace(/\.ts$/, '.js')),
  ).flatMap(({ text }) => text.match(/\b\w+Options\b/g) ?? [])
  return [...new Set(names)].filter(name => findDeclaration(name))
}

/** The options of an exported interface, as its source declares them. */
export function declaredOptions(interfaceName: string): DocumentedOption[] {
  const { body } = declarationOf(interfaceName)
  const members = body.matchAll(/^ {2}(?:\/\*\*([\s\S]*?)\*\/\s*)?readonly (\w+)(\??):/gm)
  return [...members].map(([, doc = '', name = '', optional]) => {
    const text = doc.replace(/\s+(?:\*\s+)?/g, ' ').match(/@default (.*?)(?= @|\s*$)/)?.[1]
    return { name, default: optional ? defaultOf(text) : 'required' }
  })
}

/** The literals in the object `DEFAULTS` beside an interface: what the code really does. */
export function literalDefaults(interfaceName: string): DocumentedOption[] {
  const { folder } = declarationOf(interfaceName)
  const defaults = SOURCES.filter(source => dirname(source.path) === folder)
    .map(({ text }) => text.match(/^(?:export )?const DEFAULTS = \{\n([\s\S]*?)^\}/m)?.[1])
    .join('')
  const literals = defaults.matchAll(/^ {2}(\w+): ('[^']*'|[\d_]+|true|false|null),$/gm)
  return [...literals].map(([, name = '', text = '']) => ({ name, default: text }))
}

const SOURCES = ['src', 'adapters'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => join(folder, path))
    .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })),
)

function declarationOf(interfaceName: string): { folder: string; body: string } {
  const found = findDeclaration(interfaceName)
  if (!found) throw new Error(`No exported interface ${interfaceName} in src/ or adapters/`)
  return found
}

function findDeclaration(interfaceName: string): { folder: string; body: string } | undefined {
  const pattern = new RegExp(
    `^export interface ${interfaceName}\\b[^{]*\\{\\n([\\s\\S]*?)^\\}`,
    'm',
  )
  for (const { path, text } of SOURCES) {
    const body = text.match(pattern)?.[1]
    if (body) return { folder: dirname(path), body }
  }
  return undefined
}

function defaultOf(markdown = ''): string {
  const text = plain(markdown)
  if (text === '') return 'undocumented'
  return (
    text.match(/^('[^']*'|[\d_]+|true|false|null|required|[A-Z_]{2,}|\w+\.\w+)/)?.[1] ?? 'words'
  )
}

function plain(markdown = ''): string {
  return markdown.replaceAll('`', '').trim()
}
