import { OptionError } from '../../../src/lib/check-options.js'
import { OPERATIONS, type Operation } from '../../../src/pets/specification.js'
import type { Fault } from '../faults/fault.js'
import { faultText, parseFault } from '../faults/text.js'

export interface Step {
  /** The request, such as `createPet#2`: the second of its operation in a run. */
  readonly point: string
  readonly fault: Fault
  /** `createPet#2=reset` */
  readonly text: string
}

export type Schedule = readonly Step[]

export function stepOf(point: string, fault: Fault): Step {
  return { point, fault, text: `${point}=${faultText(fault)}` }
}

export function createPoints(): (operation: Operation | undefined) => string {
  const counts = new Map<string, number>()
  return operation => {
    const name = operation ?? OTHER
    const count = (counts.get(name) ?? 0) + 1
    counts.set(name, count)
    return `${name}#${count}`
  }
}

/** The name of requests for no operation: another path, or another method. */
const OTHER = 'other'

/** `createPet#1=reset getPet#2=delay:31s` */
export function scheduleText(schedule: Schedule): string {
  return schedule.map(({ text }) => text).join(' ')
}

/** Reads the text form of a schedule; empty means no fault. @throws OptionError */
export function parseSchedule(text: string): Schedule {
  const steps = splitWords(text).map(parseStep)
  const points = steps.map(({ point }) => point)
  const twice = points.find((point, at) => points.indexOf(point) !== at)
  if (twice === undefined) return steps
  throw wrong('at most one fault for each request', `'${twice}' twice`)
}

function parseStep(word: string): Step {
  const [, operation = '', nth, fault] = /^([^#=]*)#([1-9]\d*)=(.*)$/s.exec(word) ?? []
  if (fault === undefined) {
    throw wrong(
      'faults at requests, such as `createPet#1=reset getPet#2=delay:31s`',
      `'${word.slice(0, 80)}'`,
    )
  }
  if (!NAMES.includes(operation)) {
    throw wrong(`faults at requests of ${NAMES.join(', ')}`, `'${word.slice(0, 80)}'`)
  }
  const point = `${operation}#${nth}`
  return stepOf(point, parseFault(`schedule ${point}`, fault, []))
}

const NAMES: readonly string[] = [...OPERATIONS, OTHER]

/** Splits at spaces and commas, except in the JSON of a fault, whose strings may hold anything. */
export function splitWords(text: string): readonly string[] {
  const words: string[] = []
  let word = ''
  let depth = 0
  let isString = false
  for (const [part] of text.matchAll(/\\.|./gs)) {
    if (depth > 0 && part === '"') isString = !isString
    if (!isString && part === '{') depth++
    if (!isString && part === '}') depth--
    if (depth > 0 || !/^[\s,]$/.test(part)) {
      word += part
      continue
    }
    if (word !== '') words.push(word)
    word = ''
  }
  return word === '' ? words : [...words, word]
}

function wrong(expected: string, got: string): OptionError {
  return new OptionError({ option: 'schedule', expected, got })
}
