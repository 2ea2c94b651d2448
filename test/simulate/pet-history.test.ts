import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPetHistory, type SeenPet } from './model/pet-history.js'
import { type Choices, choicesOf } from './random.js'
import { Violation } from './violation.js'

const HISTORIES = 4_000

test('pet history - decides as a search through all orders does, for thousands of small histories', () => {
  const counts = { sound: 0, broken: 0 }
  for (let seed = 0; seed < HISTORIES; seed++) {
    const history = historyOf(choicesOf('history', seed))
    const expected = isLinearizable(history)
    const found = explain(history)
    assert.equal(
      found === undefined,
      expected,
      `history ${seed}: ${found}\n${history.map(one => JSON.stringify(one)).join('\n')}`,
    )
    counts[expected ? 'sound' : 'broken']++
  }
  assert.ok(counts.sound > 1_000 && counts.broken > 1_000, JSON.stringify(counts))
})

type Input =
  | { readonly create: string }
  | { readonly list: number }
  | { readonly get: number }
  | { readonly dump: true }
/** Ids with names. */
type Output = readonly (readonly [id: number, name: string])[]

/** One operation of a history. It takes effect at one instant between its begin and its end. */
interface One {
  readonly input: Input
  readonly output: Output
  readonly begin: number
  readonly end: number
}

/**
 * True if some order of the operations explains all outputs: the search of Wing and Gong with the memory
 * of Lowe, as in Porcupine. It takes exponential time in the number of operations that overlap.
 */
function isLinearizable(operations: readonly One[]): boolean {
  const failed = new Set<string>()
  return search([], operations)

  /** @param names those that are stored, by id from 1 on */
  function search(names: readonly string[], left: readonly One[]): boolean {
    if (left.length === 0) return true
    const place = JSON.stringify([names, left.map(({ begin }) => begin)])
    if (failed.has(place)) return false
    // Nothing may come before an operation that ended before its begin.
    const firstEnd = Math.min(...left.map(({ end }) => end))
    for (const one of left) {
      const next = one.begin <= firstEnd ? namesAfter(names, one) : undefined
      if (
        next &&
        search(
          next,
          left.filter(other => other !== one),
        )
      )
        return true
    }
    failed.add(place)
    return false
  }
}

/** Undefined if a store that does one operation at a time does not answer so. */
function namesAfter(names: readonly string[], { input, output }: One) {
  const next = 'create' in input ? [...names, input.create] : names
  const expected = 'create' in input ? all(next).slice(-1) : answer(names, input)
  return JSON.stringify(output) === JSON.stringify(expected) ? next : undefined
}

function all(names: readonly string[]): Output {
  return names.map((name, at) => [at + 1, name] as const)
}

function answer(names: readonly string[], input: Exclude<Input, { create: string }>): Output {
  if ('dump' in input) return all(names)
  if ('list' in input) return all(names).slice(0, input.list)
  return all(names).filter(([id]) => id === input.get)
}

/** Some operations at the same time, done by a correct store; then perhaps one answer is changed. */
function historyOf(choices: Choices): One[] {
  const count = 3 + choices.below(5)
  const planned = Array.from({ length: count }, (_, at) => {
    const begin = choices.between(0, 10)
    const end = begin + choices.between(0.1, 6)
    return { input: inputOf(choices, at), begin, end, point: choices.between(begin, end) }
  })
  let names: readonly string[] = []
  const done: One[] = planned
    .toSorted((a, b) => a.point - b.point)
    .map(({ input, begin, end }) => {
      if (!('create' in input)) return { input, output: answer(names, input), begin, end }
      names = [...names, input.create]
      return { input, output: all(names).slice(-1), begin, end }
    })
  if (choices.chance(0.6)) {
    const at = choices.below(done.length)
    const { output, ...one } = done[at] as One
    done[at] = { ...one, output: changed(choices, one.input, output, names) }
  }
  const dump = { input: { dump: true } as const, output: all(names), begin: 100, end: 101 }
  return [...done, dump]
}

function inputOf(choices: Choices, at: number): Input {
  if (choices.chance(0.5)) return { create: `pet ${at}` }
  return choices.chance(0.5) ? { list: 1 + choices.below(4) } : { get: 1 + choices.below(4) }
}

function changed(choices: Choices, input: Input, output: Output, names: readonly string[]): Output {
  if ('create' in input) {
    const [[id, name]] = output as [[number, string]]
    return [[Math.max(1, id + choices.pick([-1, 1])), name]]
  }
  // As if it had been read at another time.
  const other = answer(names.slice(0, choices.below(names.length + 1)), input)
  return choices.chance(0.8) ? other : output.slice(1)
}

/** Why the history has no explanation. */
function explain(operations: readonly One[]): string | undefined {
  const history = createPetHistory()
  const steps = operations.flatMap(one => {
    let end = (_: Output) => {}
    return [
      { at: one.begin, run: () => (end = begin(one.input)) },
      { at: one.end, run: () => end(one.output) },
    ]
  })
  try {
    for (const { run } of steps.toSorted((a, b) => a.at - b.at)) run()
    return undefined
  } catch (error) {
    if (error instanceof Violation) return `${error.invariant}: ${error.message}`
    throw error
  }

  function begin(input: Input): (output: Output) => void {
    const pets = (output: Output) => output.map(([id, name]) => petOf(id, name))
    if ('create' in input) {
      const operation = history.create(input.create, textOf(input.create))
      return output => operation.stored(pets(output)[0] as SeenPet)
    }
    if ('dump' in input) return output => history.reopen(pets(output), output.length + 1)
    const operation = history.read()
    if ('list' in input) return output => operation.listed({ limit: input.list }, pets(output))
    return output => operation.got(input.get, pets(output)[0])
  }
}

function petOf(id: number, name: string): SeenPet {
  return { id, name, text: textOf(name) }
}

function textOf(name: string): string {
  return `"name":"${name}"}`
}
