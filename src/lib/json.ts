import { mayRound, readNumber } from './int64.js'
import { parse } from './lossless-json.js'

/** Limits nesting, so that all parsers agree and none exhausts its stack. */
const MAX_DEPTH = 1_000

/**
 * `JSON.parse` that rounds no integer: safe integers are numbers, larger ones are bigints, and so
 * are integers written `1.0` or `9.2e18`. The last of two equal names wins.
 * @throws SyntaxError when the text is not JSON, or nests deeper than 1,000 levels
 * @example
 * import { parseJson } from 'animal-adoption-store'
 *
 * console.log(parseJson('[1, 9007199254740993]')) // prints [ 1, 9007199254740993n ]
 */
export function parseJson(text: string): unknown {
  checkDepth(text)
  if (!mayRound(text)) return JSON.parse(text)
  return parse(text, undefined, {
    parseNumber: readNumber,
    onDuplicateKey: ({ newValue }) => newValue,
  })
}

/**
 * `JSON.stringify` of plain data that also serializes bigints, as digits.
 * @example
 * import { toJson } from 'animal-adoption-store'
 *
 * console.log(toJson({ categoryId: 9007199254740993n })) // prints {"categoryId":9007199254740993}
 */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(item => toJson(item ?? null)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${toJson(field)}`).join(',')}}`
}

/** True if the text needs no JSON escapes and has one UTF-8 byte per character. */
export function isPlain(text: string): boolean {
  return /^[ !#-[\]-~]*$/.test(text)
}

export function checkDepth(text: string): void {
  // A text this short cannot nest too deep.
  if (text.length < 2 * MAX_DEPTH) return
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') quoted = !quoted
    else if (character === '\\') at++
    else if (quoted) continue
    else if (character === '[' || character === '{') depth++
    else if (character === ']' || character === '}') depth--
    if (depth > MAX_DEPTH) throw new SyntaxError(`The text nests deeper than ${MAX_DEPTH} levels`)
  }
}
