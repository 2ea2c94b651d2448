import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { shrink } from './shrink.js'
import { type Failure, simulate } from './simulate.js'
import { SOMETIMES } from './sometimes.js'
import { INVARIANTS } from './violation.js'
import { WORLDS, worldOf } from './worlds.js'

/** `npm run simulate -- --seed 1 --steps 100000`; see README.md. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    steps: { type: 'string', default: '100000' },
    seconds: { type: 'string' },
    world: { type: 'string', multiple: true },
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
  const kinds = present(values.world ?? ['file'])
  if (kinds.length === 0) return
  const met = new Set<string>()
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    const end = values.seconds === undefined ? undefined : deadline(Number(values.seconds))
    const result = await simulate({
      seed,
      kinds,
      isEnough: steps => (end ? end() : steps >= Number(values.steps)),
    })
    report(seed, result)
    for (const what of Object.keys(result.counts)) met.add(what)
    if (!result.failure) continue
    await explain(result.failure)
    process.exitCode = 1
    return
  }
  const never = kinds.flatMap(kind => SOMETIMES[kind] ?? []).filter(what => !met.has(what))
  if (!values.sometimes || never.length === 0) return
  console.error(`Never happened: ${[...new Set(never)].join(', ')}`)
  process.exitCode = 1
}

/** Those that can run here. Another one was asked for, so leaving it out is a failure. */
function present(kinds: readonly string[]): readonly string[] {
  return kinds.filter(kind => {
    const { missing } = worldOf(kind)
    if (!missing) return true
    console.error(`The world ${kind} is skipped: ${missing}`)
    process.exitCode = 1
    return false
  })
}

function deadline(seconds: number): () => boolean {
  const end = performance.now() + seconds * 1_000
  return () => performance.now() >= end
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
  const end = deadline(SHRINK_MS / 1_000)
  const failure = values.shrink ? await shrink(found, worldOf(found.kind).run, end) : found
  const name = `simulate-${found.plan.seed.replaceAll('/', '-')}.json`
  writeFileSync(name, `${JSON.stringify({ kind: failure.kind, ...failure.plan }, null, 1)}\n`)
  if (values.shrink) {
    const count = failure.plan.events.length
    console.log(`\nShrunk from ${found.plan.events.length} to ${count} events:`)
    for (const event of failure.plan.events) console.log(`  ${JSON.stringify(event)}`)
    show(failure)
  }
  console.log(`\nAgain: npm run simulate -- --replay ${name}`)
}

function show({ kind, plan, outcome }: Failure): void {
  const { violation, trace, steps } = outcome
  if (!violation) return
  console.log(`\nworld ${kind} ${plan.seed} fails at step ${steps}; before it:`)
  for (const line of trace.slice(-SHOWN)) console.log(`  ${line}`)
  console.log(`${violation.invariant}: ${INVARIANTS[violation.invariant]}\n${violation.message}`)
}

async function replay(file: string): Promise<void> {
  const { kind = Object.keys(WORLDS)[0] as string, ...plan } = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  if (present([kind]).length === 0) return
  const outcome = await worldOf(kind).run(plan)
  if (!outcome.violation) {
    console.log(`${file}: ${outcome.steps} steps without a failure, digest ${outcome.digest}`)
    return
  }
  show({ kind, plan, outcome })
  process.exitCode = 1
}
