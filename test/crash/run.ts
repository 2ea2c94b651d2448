import { type CrashCounts, crash, LARGE_NAMES, RETRIES } from './driver.js'
import { checkLargeDocument } from './large-document.js'
import { type PowerCutCounts, simulate } from './simulate.js'

/** `node dist/test/crash/run.js run [ROUNDS] [SEED]` */
const [, , command, rounds = 500, seed = 1] = process.argv
if (command === 'run') {
  report('kill', await crash(Number(rounds), Number(seed)))
  report('kill with retries', await crash(Number(rounds), Number(seed), RETRIES))
  report(
    'kill with 900 KB names',
    await crash(Math.ceil(Number(rounds) / 5), Number(seed), LARGE_NAMES),
  )
  for (let round = 0; round < Number(rounds) / 50; round++) {
    for (const retries of [false, true]) {
      const { problems, ...counts } = await simulate(Number(seed) + round, 4_096, retries)
      for (const problem of problems) console.log(problem)
      report(`power cut ${round + 1}${retries ? ' with retries' : ''}`, counts)
    }
  }
  console.log(`document of ${await checkLargeDocument()} bytes: written and opened`)
}

function report(what: string, counts: CrashCounts | Omit<PowerCutCounts, 'problems'>): void {
  const figures = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  console.log(`${what}: ${figures.join(', ')}`)
  if (counts.lost + counts.doubled + counts.missing + counts.refused > 0) process.exitCode = 1
}
