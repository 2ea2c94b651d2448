import { nearestFirst } from './did-you-mean.js'

/** What is wrong with an option, as data. */
export interface OptionProblem {
  /** Its path, such as `plans.free.perMinute`. */
  readonly option: string
  /** What it has to be; completes the sentence "Expected `x` to be …". */
  readonly expected: string
  /** The value as messages show it, such as `'lost'`; undefined where it may hold a secret. */
  readonly got?: string | undefined
}

/**
 * Invalid options or API key records, found at construction and not at the first request. Programs
 * read the fields; the message is for people.
 */
export class OptionError extends TypeError implements OptionProblem {
  override readonly name = 'OptionError'
  readonly option: string
  readonly expected: string
  readonly got: string | undefined

  /** @param message for a problem that another sentence explains better */
  constructor(problem: OptionProblem, message = describeProblem(problem)) {
    super(message)
    this.option = problem.option
    this.expected = problem.expected
    this.got = problem.got
  }
}

/** @param name the option as its reader knows it, such as `--port` */
export function describeProblem(
  { option, expected, got }: OptionProblem,
  name = `\`${option}\``,
): string {
  return `Expected ${name} to be ${expected}${got === undefined ? '' : `, got ${got}`}`
}

/** What a value has to be. Its type is that of the values it accepts. */
export interface Rule<T = unknown> {
  /** Completes the sentence "Expected `x` to be …". */
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** An API key may have been passed here by mistake: never show a string. */
  readonly secret?: true | ((text: string) => boolean)
  /** For the compiler only. */
  readonly type?: T
}

/** A rule for an option that may be left out. */
export interface Default<T> extends Rule<T> {
  readonly default: T
}

/** Options by name, each with its rule. One without a default is required, unless it is `optional`. */
export type Declared = Readonly<Record<string, Rule<unknown>>>

type Accepted<R> = R extends Rule<infer T> ? T : never
type MayBeOmitted<R> = R extends Default<unknown> ? true : false

/** What a caller passes. The comment above each rule is shown in the caller's editor. */
export type OptionsOf<D extends Declared> = {
  readonly [N in keyof D as MayBeOmitted<D[N]> extends true ? never : N]: Accepted<D[N]>
} & {
  readonly [N in keyof D as MayBeOmitted<D[N]> extends true ? N : never]?:
    | Accepted<D[N]>
    | undefined
}

/** The options with their defaults filled in. */
export type SettingsOf<D extends Declared> = { readonly [N in keyof D]: Accepted<D[N]> }

/**
 * Fills in the defaults, then checks every option by its rule. `undefined` means the default. An
 * option that is not declared is refused, so that a typo never becomes a silent default; so is
 * anything but an object.
 *
 * @param within precedes the names in messages, such as `plans.`
 * @throws OptionError naming the option, the rule and the value
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
    const option = `${within}${name}`
    const expected = `one of ${nearestFirst(name, Object.keys(declared)).join(', ')}`
    const message = `Unknown option \`${option}\`; expected ${expected}`
    throw new OptionError({ option, expected, got: name }, message)
  }
  const defaults = Object.entries(declared).flatMap(([name, rule]) =>
    'default' in rule ? [[name, rule.default]] : [],
  )
  // In V8, a literal that adds names after a spread gives each object its own hidden class.
  const settings: Record<string, unknown> = Object.fromEntries([...defaults, ...set])
  for (const [name, rule] of Object.entries(declared)) {
    check(`${within}${name}`, settings[name], rule)
  }
  return settings as SettingsOf<D>
}

/** @throws OptionError naming the option, the rule and the value */
export function check(name: string, value: unknown, { expected, accepts, secret }: Rule): void {
  if (accepts(value)) return
  const isSecret =
    typeof value === 'string' && (typeof secret === 'function' ? secret(value) : secret)
  const got = isSecret ? 'a string' : show(value)
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
/** The longest time that `setTimeout` can wait, in ms; it ends a longer one immediately. */
export const LONGEST_TIMER = 2 ** 31 - 1
export const isTimeout = rule<number>(
  `an integer from 1 to ${LONGEST_TIMER}`,
  value => isInteger(value, 1) && Number(value) <= LONGEST_TIMER,
)
export const isSize = rule<number>('an integer of at least 0', value => isInteger(value, 0))
export const isObject = rule<object>(
  'an object',
  value =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    // Its entries are not properties, so all of them would be missed.
    !(value instanceof Map),
)
export const isSecretObject: Rule<object> = { ...isObject, secret: true }
/** Within the range of a Date. */
export const isInstant = rule<number>(
  'milliseconds since the Unix epoch',
  value => typeof value === 'number' && Math.abs(value) <= 8.64e15,
)

export function isOneOf<const T>(values: readonly T[]): Rule<T> {
  return rule(`one of ${values.map(show).join(', ')}`, value => values.includes(value as T))
}

/** An object with these methods. */
export function hasMethods<T>(...methods: readonly string[]): Rule<T> {
  return rule(`an object with the methods ${methods.join(', ')}`, value =>
    methods.every(name => typeof (value as Record<string, unknown> | null)?.[name] === 'function'),
  )
}

/** What a door serves. */
export const isHandler = hasMethods('handle')

export function orNull<T>({ expected, accepts }: Rule<T>): Rule<T | null> {
  return rule(`${expected}, or null`, value => value === null || accepts(value))
}

/** For an option without a default. */
export function optional<T>(given: Rule<T>): Default<T | undefined> {
  const accepts = (value: unknown) => value === undefined || given.accepts(value)
  return { ...(given as Rule<T | undefined>), accepts, default: undefined }
}

export function withDefault<T>(given: Rule<T>, standard: NoInfer<T>): Default<T> {
  return { ...given, default: standard }
}

/** The same rule for values of a type that it cannot check in full. */
export function typed<T>(given: Rule): Rule<T> {
  return given as Rule<T>
}

export function rule<T>(expected: string, accepts: Rule['accepts']): Rule<T> {
  return { expected, accepts }
}

function isInteger(value: unknown, minimum: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= minimum
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 80)}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof Map) return 'a Map'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
