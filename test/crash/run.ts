import { type CrashCounts, crash, LARGE_NAMES, RETRIES, SQLITE_FILE } from './driver.js'
import { type PowerCutCounts, simulate } from './simulate.js'
import { cutPower } from './sqlite-power-cut.js'

/** `node dist/test/crash/run.js run [ROUNDS] [SEED]` */
const [, , command, rounds = 500, seed = 1] = process.argv
if (command === 'run') {
  report('kill', await crash(Number(rounds), Number(seed)))
  report('kill with retries', await crash(Number(rounds), Number(seed), RETRIES))
  report('kill over SQLite', await crash(Number(rounds), Number(seed), SQLITE_FILE))
  report(
    'kill with 900 KB names',
    await crash(Math.ceil(Number(rounds) / 5), Number(seed), LARGE_NAMES),
  )
  for (let round = 0; round < Number(rounds) / 50; round++) {
    for (const retries of [false, true]) {
      const cut = await simulate(Number(seed) + round, 4_096, retries)
      reportCut(`power cut ${round + 1}${retries ? ' with retries' : ''}`, cut)
    }
    reportCut(`power cut ${round + 1} over SQLite`, await cutPower(Number(seed) + round, 48))
  }
}

function reportCut(what: string, { problems, ...counts }: PowerCutCounts): void {
  for (const problem of problems) console.log(problem)
  report(what, counts)
}

function report(what: string, counts: CrashCounts | Omit<PowerCutCounts, 'problems'>): void {
  const figures = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  console.log(`${what}: ${figures.join(', ')}`)
  if (counts.lost + counts.doubled + counts.missing + counts.refused > 0) process.exitCode = 1
}
