import './node-timers.js'

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { shrink } from './shrink.js'
import { type Failure, simulate } from './simulate.js'
import { SOMETIMES } from './sometimes.js'
import { INVARIANTS } from './violation.js'
import { runWorld } from './world.js'

/** `npm run simulate -- --seed 1 --steps 100000`; see README.md. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '100000' },
    sometimes: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    replay: { type: 'string' },
  },
})
const SHRINK_MS = 120_000
const SHOWN = 30

if (values.replay !== undefined) await replay(values.replay)
else await run()

async function run(): Promise<void> {
  // Most code here is too cold to earn back the time that V8 spends on inlining. Later versions use Maglev first.
  if (process.versions.node.startsWith('20.')) setFlagsFromString('--no-turbo-inlining')
  const first = Number(values.seed)
  const met = new Set<string>()
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    const result = await simulate(seed, Number(values.steps))
    report(seed, result)
    for (const what of Object.keys(result.counts)) met.add(what)
    if (!result.failure) continue
    await explain(result.failure)
    process.exitCode = 1
    return
  }
  const never = SOMETIMES.filter(what => !met.has(what))
  if (!values.sometimes || never.length === 0) return
  console.error(`Never happened: ${never.join(', ')}`)
  process.exitCode = 1
}

function report(seed: number, result: Awaited<ReturnType<typeof simulate>>): void {
  const { steps, worlds, digest, counts } = result
  const seconds = (process.cpuUsage().user / 1e6).toFixed(1)
  console.log(
    `seed ${seed}: ${steps} steps in ${worlds} worlds, digest ${digest}, ${seconds} s of CPU`,
  )
  const all = Object.entries(counts).toSorted(([, a], [, b]) => b - a)
  console.log(`  ${all.map(([what, count]) => `${what}: ${count}`).join(', ')}`)
}

async function explain(found: Failure): Promise<void> {
  show(found)
  if (found.again) return console.log(`\nAgain: npm run simulate -- ${found.again}`)
  const end = performance.now() + SHRINK_MS
  const failure = values.shrink
    ? await shrink(found, runWorld, () => performance.now() >= end)
    : found
  const name = `simulate-${found.scenario.seed.replaceAll('/', '-')}.json`
  writeFileSync(name, `${JSON.stringify(failure.scenario, null, 1)}\n`)
  if (values.shrink) {
    const { events } = failure.scenario
    console.log(`\nShrunk from ${found.scenario.events.length} to ${events.length} events:`)
    for (const event of events) console.log(`  ${JSON.stringify(event)}`)
    show(failure)
  }
  console.log(`\nAgain: npm run simulate -- --replay ${name}`)
}

function show({ scenario, outcome }: Failure): void {
  const { violation, trace, steps } = outcome
  if (!violation) return
  console.log(`\nworld ${scenario.seed} fails at step ${steps}; before it:`)
  for (const line of trace.slice(-SHOWN)) console.log(`  ${line}`)
  console.log(`${violation.invariant}: ${INVARIANTS[violation.invariant]}\n${violation.message}`)
}

async function replay(file: string): Promise<void> {
  const scenario = JSON.parse(readFileSync(file, 'utf8'))
  const outcome = await runWorld(scenario)
  if (!outcome.violation) {
    console.log(`${file}: ${outcome.steps} steps without a failure, digest ${outcome.digest}`)
    return
  }
  show({ scenario, outcome })
  process.exitCode = 1
}
