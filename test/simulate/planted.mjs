/**
 * `node test/simulate/planted.mjs [name…] [--seeds n] [--steps n]`: plants one defect after the other in a copy of the
 * build, and prints after how many events the simulation finds each by the invariant that it breaks. The same
 * seeds have to pass without a defect first.
 */
import { parseArgs } from 'node:util'
import { copyBuild, planted, simulated } from './plant.mjs'
import { DEFECTS } from './planted-defects.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seeds: { type: 'string', default: '3' },
    steps: { type: 'string', default: '200000' },
  },
})
const steps = Number(values.steps)
const seeds = Array.from({ length: Number(values.seeds) }, (_, at) => at + 1)
const isChosen = ({ name }) =>
  positionals.length === 0 || positionals.some(part => name.includes(part))
const chosen = DEFECTS.filter(isChosen).map(one => ({ world: 'file', ...one }))
if (chosen.length === 0) throw new Error(`No defect is named ${positionals.join(' or ')}`)
const folder = copyBuild()
// An event takes longer with a test double, whose digests and reports are compared.
const stepsIn = world => (world === 'double' ? steps / 5 : steps)
const run = world => Promise.all(seeds.map(seed => simulated(folder, seed, stepsIn(world), world)))
for (const world of new Set(chosen.map(({ world }) => world))) {
  const red = (await run(world)).find(Boolean)
  if (red) throw new Error(`Without a defect, the world ${world} breaks ${red.invariant}`)
}
console.log('| defect | breaks | median of events | most |\n|---|---|---|---|')
let missed = 0
for (const defect of chosen) {
  const found = await planted(folder, defect.file, changeOf(defect), () => run(defect.world))
  const counts = found
    .map(one => (defect.breaks.includes(one?.invariant) ? one.steps : Infinity))
    .toSorted((one, other) => one - other)
  if (counts.includes(Infinity)) missed++
  const others = found.map(one => one?.invariant).filter(by => by && !defect.breaks.includes(by))
  const shown = [counts[counts.length >> 1], counts.at(-1)].map(n => (n === Infinity ? '–' : n))
  const by = [...defect.breaks, ...new Set(others.map(other => `not ${other}`))].join(', ')
  console.log(`| ${defect.name} | ${by} | ${shown.join(' | ')} |`)
}
console.log(
  `\n${chosen.length - missed} of ${chosen.length} defects were found by each of ${seeds.length} seeds within ${steps} events.`,
)
if (missed > 0) process.exitCode = 1

function changeOf({ name, file, from, to }) {
  return code => {
    const places = code.split(from).length - 1
    if (places !== 1) throw new Error(`${name}: its code stands ${places} times in ${file}`)
    return code.replace(from, () => to)
  }
}
