/** What a run with a set of faults comes to. */
export interface Tried {
  /** Whether every fault was injected. */
  readonly isReached: boolean
  readonly hasFailed: boolean
}

/** A fault at a request, such as `createPet#2=reset`. */
export interface Placed {
  readonly point: string
  readonly text: string
}

/**
 * The minimal failing schedules, found without any thought: runs every set of faults at every request
 * that may come, and drops those that contain another. Each is a sorted text.
 *
 * @param plain the schedule that is reported for those that nobody can tell apart
 */
export async function bruteForce(
  points: readonly string[],
  faults: readonly string[],
  depth: number,
  run: (schedule: readonly Placed[]) => Tried | Promise<Tried>,
  plain: (schedule: readonly Placed[]) => readonly Placed[],
): Promise<readonly string[]> {
  const failing: (readonly Placed[])[] = []
  for (const schedule of subsets(points, faults, depth)) {
    const { isReached, hasFailed } = await run(schedule)
    if (isReached && hasFailed) failing.push(schedule)
  }
  const minimal = failing
    .map(plain)
    .filter(whole => !failing.some(part => part.length < whole.length && isPart(part, whole)))
  return [...new Set(minimal.map(schedule => sortedText(schedule.map(({ text }) => text))))].sort()
}

export function sortedText(texts: readonly string[]): string {
  return texts.toSorted().join(' ')
}

function isPart(part: readonly Placed[], whole: readonly Placed[]): boolean {
  return part.every(one => whole.some(other => other.text === one.text))
}

function* subsets(
  points: readonly string[],
  faults: readonly string[],
  depth: number,
): Generator<readonly Placed[]> {
  yield []
  if (depth === 0) return
  for (const [at, point] of points.entries()) {
    for (const rest of subsets(points.slice(at + 1), faults, depth - 1)) {
      for (const fault of faults) yield [{ point, text: `${point}=${fault}` }, ...rest]
    }
  }
}
