import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'

/** Prints a Markdown table: the first column is text, the others are figures. */
export function printTable(title, columns, rows) {
  console.log(`\n### ${title}\n\n${table(columns, rows)}`)
}

function table(columns, rows) {
  const line = cells => `| ${cells.join(' | ')} |`
  const rule = line(columns.map((_, index) => (index === 0 ? '---' : '---:')))
  return [line(columns), rule, ...rows.map(line)].join('\n')
}

/** Prints the machine, how busy it is, and versions. */
export function printSurroundings(peers = []) {
  const versions = peers.map(name => `${name} ${versionOf(name)}`)
  const machine = `${cpus().length} cores, ${cpus()[0]?.model ?? 'unknown'}`
  const parts = [new Date().toISOString().slice(0, 10), machine, `Node ${process.version.slice(1)}`]
  parts.push(`load ${loadavg()[0].toFixed(1)} at the start`)
  console.log(`\nMeasured ${[...parts, ...versions].join(', ')}.`)
}

function versionOf(name) {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return JSON.parse(readFileSync(file, 'utf8')).version
}
