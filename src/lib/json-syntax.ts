import { parse } from './lossless-json.js'

/**
 * Where a text stops being JSON, such as ` at line 2, column 4: Colon ':' expected`. Nothing of the
 * text itself is shown, as it may contain secrets. Empty when the place is unknown.
 */
export function describeSyntaxError(text: string): string {
  // Node 20 does not always know the position.
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

/** The first name that an object of a valid JSON text has twice, and its place; parsers keep one. */
export function findDuplicate(
  text: string,
): { readonly name: string; readonly place: string } | undefined {
  let found: { readonly name: string; readonly place: string } | undefined
  parse(text, undefined, {
    parseNumber: Number,
    onDuplicateKey({ key: name, position, newValue }) {
      found ??= { name, place: placeIn(text, position) }
      return newValue
    },
  })
  return found
}

function placeIn(text: string, position: number): string {
  const before = text.slice(0, position).split('\n')
  return `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`
}
