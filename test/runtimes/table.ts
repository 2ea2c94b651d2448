import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/paths.js'

/** The runtimes for which the page "In the browser" claims what a test file proves. */
export function claimedFor(testFile: string): string[] {
  const page = readFileSync(join(ROOT, 'adapters/stores/indexeddb/README.md'), 'utf8')
  const [head = [], , ...rows] = page
    .slice(page.indexOf('| part | Node |'))
    .trim()
    .split('\n')
    .map(line => line.split('|').map(cell => cell.trim()))
  const row = rows.find(cells => cells.includes(`\`${testFile}\``)) ?? []
  return head.filter((_, at) => row[at] === 'yes').map(name => name.toLowerCase())
}
