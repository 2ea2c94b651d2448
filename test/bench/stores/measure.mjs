/**
 * `node stores/measure.mjs NAME COUNT`: opens one store with that many animals, and prints ns per
 * operation.
 */
import { median } from '../harness/rounds.mjs'
import { animal, animals, NEW_ANIMAL } from '../harness/workload.mjs'

const [name, text] = process.argv.slice(2)
const count = Number(text)
const { open } = await import(`./${name}.mjs`)

const store = await open(animals(count))
const small = await open(animals(1_000))
for (let at = 0; at < 30_000; at++) await small.create(NEW_ANIMAL)

const ids = Array.from({ length: 1_024 }, (_, index) => 1 + ((index * 7_919) % count))
const figures = {
  common: await nanoseconds(() => store.list('available'), { milliseconds: 40 }),
  rare: await nanoseconds(() => store.list('sold'), { milliseconds: 40 }),
  get: await nanoseconds(turn => store.get(ids[turn % ids.length]), { milliseconds: 40 }),
  create: await nanoseconds(() => store.create(NEW_ANIMAL), { turns: 1_000 }),
}
await check()
console.log(JSON.stringify(figures))

/** The median of ten samples, each a few milliseconds or a number of calls; awaits promises. */
async function nanoseconds(call, span) {
  const spans = []
  for (let at = 0; at < 10; at++) spans.push(await run(call, span))
  return median(spans)
}

async function run(call, { turns = Number.POSITIVE_INFINITY, milliseconds = 10_000 }) {
  const start = performance.now()
  let taken = 0
  let done = 0
  for (let batch = 1; taken < milliseconds && done < turns; batch = Math.min(batch * 2, 1_000)) {
    for (const end = Math.min(done + batch, turns); done < end; done++) {
      const value = call(done)
      if (value instanceof Promise) await value
    }
    taken = performance.now() - start
  }
  return (taken / done) * 1e6
}

async function check() {
  const found = await store.get(7)
  const page = await store.list('sold')
  const right = found.name === animal(7).name && page.length === Math.min(20, Number(text) / 50)
  if (!right) throw new Error(`${name} answers ${JSON.stringify({ found, page })}`)
}
