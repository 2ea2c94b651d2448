import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Shown } from '../../../adapters/test-double/explore/faults-at.js'
import {
  createPoints,
  parseSchedule,
  type Schedule,
  type Step,
} from '../../../adapters/test-double/explore/schedule.js'
import { search } from '../../../adapters/test-double/explore/search.js'
import { parseFault } from '../../../adapters/test-double/faults/text.js'
import { OPERATIONS } from '../../../src/pets/specification.js'

const RUNS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 10_000 : 500
const FAULTS = ['reset', 'status:503', 'status:503-after']
const POINTS = OPERATIONS.flatMap(operation => [1, 2, 3].map(n => `${operation}#${n}`))

test('search - finds the failures that brute force finds, in hundreds of random programs', async () => {
  let [found, multiple, pruned] = [0, 0, 0]
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.integer({ min: 0, max: 2 }), async (seed, depth) => {
      const expected = bruteForce(
        POINTS,
        FAULTS,
        depth,
        placed => {
          const { isReached, failure } = program(seed, scheduleOf(placed))
          return { isReached, hasFailed: failure !== undefined }
        },
        placed => placed.map(one => withoutTwin(seed, placed, one)),
      )
      const result = await explored(seed, depth)
      assert.deepEqual(result.failures.map(textOf).sort(), expected)
      assert.deepEqual([result.exhausted, result.unreached], [true, []])
      found += expected.length
      multiple += expected.filter(text => text.includes(' ')).length
      pruned += result.pruned
    }),
    { numRuns: RUNS, seed: 1 },
  )
  // Otherwise the comparison would show nothing.
  assert.ok(
    found > RUNS / 2 && multiple > RUNS / 10 && pruned > RUNS / 10,
    `${found} ${multiple} ${pruned}`,
  )
})

function explored(seed: number, depth: number) {
  return search({
    faults: FAULTS.map(text => parseFault('fault', text)),
    depth,
    schedules: 100_000,
    run: schedule => program(seed, schedule),
  })
}

/**
 * A program whose every next request, and whose end, follow from the responses so far. Its store
 * rejects some requests, and what a create stores shows at the end only.
 */
function program(seed: number, schedule: Schedule) {
  const faults = new Map(schedule.map(({ point, fault }) => [point, fault]))
  const pointOf = createPoints()
  const requests: Shown[] = []
  let seen = mix(seed, 1)
  let stored = 0
  while (requests.length < 3 && (requests.length === 0 || mix(seen, 2) % 6 > 0)) {
    const operation = OPERATIONS[mix(seen, 3) % 3] as (typeof OPERATIONS)[number]
    const status = [200, 200, 404, 429][mix(mix(seen, 4), stored) % 4] as number
    const point = pointOf(operation)
    const fault = faults.get(point)
    faults.delete(point)
    const isInjected = fault !== undefined && (fault.kind === 'reset' || status !== 429)
    const runs =
      !isInjected || fault.kind === 'reset' || (fault.kind === 'status' && fault.when === 'after')
    if (operation === 'createPet' && status === 200 && runs) stored = mix(stored, requests.length)
    seen = mix(seen, !isInjected ? status : fault.kind === 'reset' ? 0 : 503)
    const answer = fault ? undefined : { status, length: 1 }
    requests.push({ point, operation, keyId: undefined, answer })
  }
  const failure = mix(mix(seen, 5), stored) % 6 === 0 ? 'fails' : undefined
  return { requests, isReached: faults.size === 0, failure }
}

/** Numbers that follow from others, without any pattern (the finalizer of MurmurHash3). */
function mix(one: number, other: number): number {
  let hash = Math.imul(one ^ Math.imul(other + 1, 0x9e3779b1), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** A 503 after a request that stores nothing is the same as one before. */
function withoutTwin(seed: number, placed: readonly Placed[], one: Placed): Placed {
  const { requests } = program(seed, scheduleOf(placed.filter(other => other !== one)))
  const request = requests.find(({ point }) => point === one.point)
  const stores = request?.operation === 'createPet' && request.answer?.status === 200
  return stores ? one : { ...one, text: one.text.replace('-after', '') }
}

function scheduleOf(placed: readonly Placed[]): Schedule {
  return placed.map(({ text }) => STEPS.get(text) as Step)
}

const STEPS = new Map(
  POINTS.flatMap(point => FAULTS.map(fault => parseSchedule(`${point}=${fault}`)[0] as Step)).map(
    step => [step.text, step],
  ),
)

function textOf({ schedule }: { readonly schedule: Schedule }): string {
  return sortedText(schedule.map(({ text }) => text))
}

interface Tried {
  readonly isReached: boolean
  readonly hasFailed: boolean
}

/** A fault at a request, such as `createPet#2=reset`. */
interface Placed {
  readonly point: string
  readonly text: string
}

/**
 * The minimal failing schedules, found without any thought: runs every set of faults at every request
 * that may come, and drops those that contain another. Each is a sorted text.
 *
 * @param plain the schedule that is reported for those that nobody can tell apart
 */
function bruteForce(
  points: readonly string[],
  faults: readonly string[],
  depth: number,
  run: (schedule: readonly Placed[]) => Tried,
  plain: (schedule: readonly Placed[]) => readonly Placed[],
): readonly string[] {
  const failing: (readonly Placed[])[] = []
  for (const schedule of subsets(points, faults, depth)) {
    const { isReached, hasFailed } = run(schedule)
    if (isReached && hasFailed) failing.push(schedule)
  }
  const minimal = failing
    .map(plain)
    .filter(whole => !failing.some(part => part.length < whole.length && isPart(part, whole)))
  return [...new Set(minimal.map(schedule => sortedText(schedule.map(({ text }) => text))))].sort()
}

function sortedText(texts: readonly string[]): string {
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
