import { crash, LARGE_NAMES } from './driver.js'
import { checkLargeDocument } from './large-document.js'
import { simulate } from './simulate.js'

/** `node dist/test/crash/run.js run [ROUNDS] [SEED]` */
const [, , command, rounds = 500, seed = 1] = process.argv
if (command === 'run') {
  report('kill', await crash(Number(rounds), Number(seed)))
  report(
    'kill with 900 KB names',
    await crash(Math.ceil(Number(rounds) / 5), Number(seed), LARGE_NAMES),
  )
  for (let round = 0; round < Number(rounds) / 50; round++) {
    const { problems, ...counts } = await simulate(Number(seed) + round, 4_096)
    for (const problem of problems) console.log(problem)
    report(`power cut ${round + 1}`, counts)
  }
  console.log(`document of ${await checkLargeDocument()} bytes: written and opened`)
}

function report(what: string, counts: { lost: number; doubled: number; refused: number }): void {
  const figures = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  console.log(`${what}: ${figures.join(', ')}`)
  if (counts.lost + counts.doubled + counts.refused > 0) process.exitCode = 1
}
