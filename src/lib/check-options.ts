import { brand } from './brand.js'
import { nearestFirst } from './did-you-mean.js'

export interface OptionProblem {
  /** Path of the option, such as `plans.free.perMinute`. */
  readonly option: string
  /** Completes the sentence "Expected `x` to be …". */
  readonly expected: string
  /** The value as messages show it, such as `'lost'`; undefined if it may be a secret. */
  readonly got?: string | undefined
}

/** Invalid options or API key records. Programs read the fields, people the message. */
export class OptionError extends TypeError implements OptionProblem {
  override readonly name = 'OptionError'
  readonly option: string
  readonly expected: string
  readonly got: string | undefined

  constructor(problem: OptionProblem, message = describeProblem(problem)) {
    super(message)
    this.option = problem.option
    this.expected = problem.expected
    this.got = problem.got
  }
}
brand({ OptionError })

/** @param name the option as users know it, such as `--port` */
export function describeProblem(
  { option, expected, got }: OptionProblem,
  name = `\`${option}\``,
): string {
  return `Expected ${name} to be ${expected}${got === undefined ? '' : `, got ${got}`}`
}

export interface Rule<T = unknown> {
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** Shows `a string`, or the returned words, for a rejected string: it may be a misplaced API key. */
  readonly secret?: true | ((text: string) => boolean | string)
  /** Turns a time into ms; not called for null and undefined. */
  readonly read?: (value: unknown) => number
  readonly type?: T
}

export interface Default<T> extends Rule<T> {
  readonly default: T
}

/** The rule of an option that takes a time in several forms. */
export type TimeRule<T> = Rule<T> & Required<Pick<Rule<T>, 'read'>>
export type TimeDefault<T> = Default<T> & TimeRule<T>

/** Rules by option name. An option without a default is required, unless it is `optional`. */
export type Declared = Readonly<Record<string, Rule<unknown>>>

type Accepted<R> = R extends Rule<infer T> ? T : never
type MayBeOmitted<R> = R extends Default<unknown> ? true : false

/** Options as callers pass them; editors show the comment above each rule. */
export type OptionsOf<D extends Declared> = {
  readonly [N in keyof D as MayBeOmitted<D[N]> extends true ? never : N]: Accepted<D[N]>
} & {
  readonly [N in keyof D as MayBeOmitted<D[N]> extends true ? N : never]?:
    | Accepted<D[N]>
    | undefined
}

type Setting<R> = R extends TimeRule<infer T> ? number | Extract<T, null | undefined> : Accepted<R>
/** Options with their defaults; times are in ms. */
export type SettingsOf<D extends Declared> = { readonly [N in keyof D]: Setting<D[N]> }

/**
 * Fills in defaults, checks each option by its rule, and reads times; `undefined` means the default.
 * Refuses undeclared options, so that a typo never becomes a silent default.
 * @param within precedes the names in messages, such as `plans.`
 */
export function settingsOf<D extends Declared>(
  declared: D,
  given: OptionsOf<D> | undefined,
  within = '',
): SettingsOf<D> {
  if (given !== undefined) check(within.slice(0, -1) || 'options', given, isSecretObject)
  const set = Object.entries(given ?? {}).filter(([, value]) => value !== undefined)
  for (const [name] of set) {
    if (Object.hasOwn(declared, name)) continue
    const option = `${within}${name.slice(0, 80)}`
    const expected = `one of ${nearestFirst(name, Object.keys(declared)).join(', ')}`
    const message = `Unknown option \`${option}\`; expected ${expected}`
    throw new OptionError({ option, expected, got: name.slice(0, 80) }, message)
  }
  const defaults = Object.entries(declared).flatMap(([name, rule]) =>
    'default' in rule ? [[name, rule.default]] : [],
  )
  // In V8, a literal that adds names after a spread gives each object its own hidden class.
  const settings: Record<string, unknown> = Object.fromEntries([...defaults, ...set])
  for (const [name, rule] of Object.entries(declared)) {
    const value = settings[name]
    check(`${within}${name}`, value, rule)
    if (rule.read && value !== undefined && value !== null) settings[name] = rule.read(value)
  }
  return settings as SettingsOf<D>
}

/** @throws OptionError naming the option, the rule and the value */
export function check(name: string, value: unknown, { expected, accepts, secret }: Rule): void {
  if (accepts(value)) return
  const hidden =
    typeof value === 'string' && (typeof secret === 'function' ? secret(value) : secret)
  const got = hidden === true ? 'a string' : hidden || show(value)
  throw new OptionError({ option: name, expected, got })
}

export const isBoolean = rule<boolean>('true or false', value => typeof value === 'boolean')
export const isFunction = rule('a function', value => typeof value === 'function')
export const isString = rule<string>('a string', value => typeof value === 'string')
export const isText = rule<string>(
  'a non-empty string',
  value => typeof value === 'string' && value !== '',
)
export const isCount = rule<number>('an integer of at least 1', value => isInteger(value, 1))
/** Longest delay of `setTimeout`, in ms; it fires immediately for anything longer. */
export const LONGEST_TIMER = 2 ** 31 - 1
export const isSize = rule<number>('an integer of at least 0', value => isInteger(value, 0))
export const isObject = rule<object>(
  'an object',
  value =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    // Entries of a Map are not properties, so none would be found.
    !(value instanceof Map),
)
export const isSecretObject: Rule<object> = { ...isObject, secret: true }
export function isOneOf<const T>(values: readonly T[]): Rule<T> {
  return rule(`one of ${values.map(show).join(', ')}`, value => values.includes(value as T))
}

export function hasMethods<T>(...methods: readonly string[]): Rule<T> {
  return rule(`an object with the methods ${methods.join(', ')}`, value =>
    methods.every(name => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
  )
}

export const isHandler = hasMethods('handle')

export function orNull<T>(given: TimeRule<T>): TimeRule<T | null>
export function orNull<T>(given: Rule<T>): Rule<T | null>
export function orNull<T>(given: Rule<T>): Rule<T | null> {
  const accepts = (value: unknown) => value === null || given.accepts(value)
  return { ...(given as Rule<T | null>), expected: `${given.expected}, or null`, accepts }
}

export function optional<T>(given: TimeRule<T>): TimeDefault<T | undefined>
export function optional<T>(given: Rule<T>): Default<T | undefined>
export function optional<T>(given: Rule<T>): Default<T | undefined> {
  const accepts = (value: unknown) => value === undefined || given.accepts(value)
  return { ...(given as Rule<T | undefined>), accepts, default: undefined }
}

export function withDefault<T>(given: TimeRule<T>, standard: NoInfer<T>): TimeDefault<T>
export function withDefault<T>(given: Rule<T>, standard: NoInfer<T>): Default<T>
export function withDefault<T>(given: Rule<T>, standard: NoInfer<T>): Default<T> {
  return { ...given, default: standard }
}

/** Narrows the type of a rule that cannot check its values in full. */
export function typed<T>(given: Rule): Rule<T> {
  return given as Rule<T>
}

export function rule<T>(expected: string, accepts: Rule['accepts']): Rule<T> {
  return { expected, accepts }
}

export function isInteger(value: unknown, minimum: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= minimum
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 80)}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Map) return 'a Map'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
