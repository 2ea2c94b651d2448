import { nearestFirst } from './nearest.js'

/** Invalid options or API key records, found at construction and not at the first request. */
export class OptionError extends TypeError {
  override readonly name = 'OptionError'
}

/** What a value has to be. */
export interface Rule {
  /** Completes the sentence "Expected `x` to be …". */
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** An API key may have been passed here by mistake: never show a string. */
  readonly secret?: true
}

export type Rules<Options> = { readonly [name in keyof Options]-?: Rule }

/** Options with their defaults filled in. */
export type WithDefaults<Options, Defaults> = Omit<Options, keyof Defaults> & {
  readonly [name in keyof Options & keyof Defaults]-?: Exclude<Options[name], undefined>
}

/**
 * Fills in the defaults, then checks every option by its rule. `undefined` means the default. An
 * option without a rule is refused, so that a typo never becomes a silent default.
 *
 * @param within precedes the names in messages, such as `plans.`
 * @throws OptionError naming the option, the rule and the value
 */
export function readOptions<Options extends object, Defaults extends Partial<Options>>(
  given: Options | undefined,
  defaults: Defaults,
  rules: Rules<Options>,
  within = '',
): WithDefaults<Options, Defaults> {
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined)
  const options: Record<string, unknown> = { ...defaults, ...Object.fromEntries(set) }
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(rules, name)) continue
    const known = nearestFirst(name, Object.keys(rules)).join(', ')
    throw new OptionError(`Unknown option \`${within}${name}\`; expected one of ${known}`)
  }
  for (const [name, rule] of Object.entries<Rule>(rules)) {
    check(`${within}${name}`, options[name], rule)
  }
  return options as WithDefaults<Options, Defaults>
}

/** @throws OptionError naming the option, the rule and the value */
export function check(name: string, value: unknown, { expected, accepts, secret }: Rule): void {
  if (accepts(value)) return
  const shown = secret && typeof value === 'string' ? 'a string' : show(value)
  throw new OptionError(`Expected \`${name}\` to be ${expected}, got ${shown}`)
}

export const isBoolean: Rule = {
  expected: 'true or false',
  accepts: value => typeof value === 'boolean',
}

export const isFunction: Rule = {
  expected: 'a function',
  accepts: value => typeof value === 'function',
}

export const isObject: Rule = {
  expected: 'an object',
  accepts: value => typeof value === 'object' && value !== null && !Array.isArray(value),
}

export const isSecretObject: Rule = { ...isObject, secret: true }

export const isCount: Rule = {
  expected: 'an integer of at least 1',
  accepts: value => Number.isSafeInteger(value) && Number(value) >= 1,
}

export const isSize: Rule = {
  expected: 'an integer of at least 0',
  accepts: value => Number.isSafeInteger(value) && Number(value) >= 0,
}

export const isText: Rule = {
  expected: 'a non-empty string',
  accepts: value => typeof value === 'string' && value !== '',
}

/** Within the range of a Date. */
export const isInstant: Rule = {
  expected: 'milliseconds since the Unix epoch',
  accepts: value => typeof value === 'number' && Math.abs(value) <= 8.64e15,
}

export function isOneOf(values: readonly unknown[]): Rule {
  return {
    expected: `one of ${values.map(show).join(', ')}`,
    accepts: value => values.includes(value),
  }
}

/** A port: an object with these methods. */
export function hasMethods(...methods: readonly string[]): Rule {
  return {
    expected: `an object with the methods ${methods.join(', ')}`,
    accepts: value =>
      methods.every(name => typeof (value as Port | null | undefined)?.[name] === 'function'),
  }
}
type Port = Readonly<Record<string, unknown>>

export function orNull(rule: Rule): Rule {
  return {
    ...rule,
    expected: `${rule.expected}, or null`,
    accepts: value => value === null || rule.accepts(value),
  }
}

/** For an option without a default. */
export function optional(rule: Rule): Rule {
  return { ...rule, accepts: value => value === undefined || rule.accepts(value) }
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 80)}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
