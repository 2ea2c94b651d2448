import { crash } from './driver.js'

/** `npm run test:crash`, or `npm run test:crash -- ROUNDS SEED`. */
const [, , command, rounds = 500, seed = 1] = process.argv
if (command === 'run') {
  const counts = await crash(Number(rounds), Number(seed))
  for (const [name, count] of Object.entries(counts)) console.log(`${name}: ${count}`)
  process.exitCode = counts.lost + counts.doubled === 0 ? 0 : 1
}
