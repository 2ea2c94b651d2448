import { mayRound, readNumber } from './int64.js'
import { checkDepth } from './json.js'
import { parse } from './lossless-json.js'

/**
 * Describes where a text stops being JSON, such as ` at line 2, column 4: Colon ':' expected`;
 * empty if unknown. The text itself is never shown, as it may contain secrets.
 */
export function describeSyntaxError(text: string): string {
  // Node 20 does not always report a position.
  try {
    parse(text)
    return ''
  } catch (error) {
    const { message } = error as Error
    const [, problem = '', position] = /^(.*) at position (\d+)$/s.exec(message) ?? []
    if (position === undefined) return ''
    const rule = problem.replace(/ but .*|^(Invalid [a-z ]+[a-z]).*/s, '$1')
    return ` at ${placeIn(text, Number(position))}: ${rule}`
  }
}

/** A name that an object has twice with different values; parsers disagree on which counts. */
export interface Duplicate {
  /** Its first 80 characters. */
  readonly name: string
  /** such as `line 2, column 4` */
  readonly place: string
}

/** `parseJson`, and the first duplicate name. */
export function parseFindingDuplicate(text: string): {
  readonly value: unknown
  readonly duplicate: Duplicate | undefined
} {
  checkDepth(text)
  let duplicate: Duplicate | undefined
  const value = parse(text, undefined, {
    // Most numbers are short, and `Number` reads them in two thirds of the time.
    parseNumber: number => (mayRound(number) ? readNumber(number) : Number(number)),
    onDuplicateKey({ key: name, position, newValue }) {
      duplicate ??= { name: name.slice(0, 80), place: placeIn(text, position) }
      return newValue
    },
  })
  return { value, duplicate }
}

function placeIn(text: string, position: number): string {
  const before = text.slice(0, position).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
