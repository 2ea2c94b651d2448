/**
 * `node durable/creates.mjs ENGINE ANIMALS CALLERS SECONDS`: prints how many creates the callers
 * got per second and per second of CPU time, each waiting for its own.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { animals, NEW_ANIMAL } from '../harness/workload.mjs'

const [name, size, callers, seconds] = process.argv.slice(2)
const open = (await import('./engines.mjs'))[name]
const folder = mkdtempSync(join(tmpdir(), 'durable-'))

await creates(join(folder, 'warm-up'), animals(100), Number(callers), 0.3)
console.log(
  JSON.stringify(
    await creates(join(folder, 'animals'), animals(Number(size)), Number(callers), Number(seconds)),
  ),
)
rmSync(folder, { recursive: true })

async function creates(path, existing, callers, seconds) {
  const engine = await open(path, existing, callers)
  let done = 0
  const cpu = process.cpuUsage()
  const start = performance.now()
  const end = start + seconds * 1000
  const caller = async () => {
    for (; performance.now() < end; done++) await engine.create(NEW_ANIMAL)
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const rate = (done / (performance.now() - start)) * 1000
  const { user, system } = process.cpuUsage(cpu)
  await engine.close()
  return { rate, perCpu: (done / (user + system)) * 1e6 }
}
