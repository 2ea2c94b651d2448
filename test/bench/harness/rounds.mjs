/**
 * Measures every subject once per round, so that noise of the machine affects all of them.
 * Returns the results of each subject, one per round.
 */
export async function inRounds(rounds, subjects, measure) {
  const results = new Map(subjects.map(subject => [subject, []]))
  for (let round = 0; round < rounds; round++) {
    // Nobody always comes after the same neighbour.
    const first = round % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
      process.stderr.write(`\r\x1b[Kround ${round + 1} of ${rounds}: ${subject}`)
      results.get(subject).push(await measure(subject))
    }
  }
  process.stderr.write('\r\x1b[K')
  return results
}

/** `median (min–max)` with three significant digits, one result alone; 'n/a' without results. */
export function figure(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  if (sorted.length === 0) return 'n/a'
  if (sorted.length === 1) return digits(sorted[0])
  return `${digits(median(sorted))} (${digits(sorted[0])}–${digits(sorted.at(-1))})`
}

/** The ratio of each round to the same round of a base. */
export function ratios(values, bases) {
  return values.map((value, round) => value / bases[round])
}

/**
 * The smallest of many short times: neighbours on the machine only ever add to them, and a median
 * tells more of the neighbours than of the program.
 */
export function quiet(values) {
  return Math.min(...values.filter(Number.isFinite))
}

export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return Number.NaN
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export function digits(value) {
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return String(Number(value.toPrecision(3)))
}
