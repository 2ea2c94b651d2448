/**
 * `node durable/slices.mjs ANIMALS CALLERS SLICES CREATES ENGINE…`: the engines take turns in one process;
 * prints the CPU time per durable create of each slice, in µs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { animals, NEW_ANIMAL } from '../harness/workload.mjs'

const [size, callers, slices, creates] = process.argv.slice(2, 6).map(Number)
const all = await import('./engines.mjs')
const folder = mkdtempSync(join(tmpdir(), 'slices-'))
/** Slices that are not counted. */
const warmUp = 5
const engines = new Map()
for (const name of process.argv.slice(6)) {
  engines.set(name, await all[name](join(folder, name), animals(size), callers))
}
const times = Object.fromEntries([...engines.keys()].map(name => [name, []]))
for (let slice = -warmUp; slice < slices; slice++) {
  // Nobody always comes after the same neighbour.
  for (const [name, engine] of slice % 2 ? [...engines] : [...engines].reverse()) {
    const us = await measure(engine)
    if (slice >= 0) times[name].push(us)
  }
}
for (const engine of engines.values()) await engine.close()
rmSync(folder, { recursive: true })
console.log(JSON.stringify(times))

async function measure(engine) {
  const cpu = process.cpuUsage()
  const caller = async () => {
    for (let n = 0; n < creates / callers; n++) await engine.create(NEW_ANIMAL)
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const { user, system } = process.cpuUsage(cpu)
  return (user + system) / creates
}
