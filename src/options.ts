/** An option that is not right, found when the thing is made and not at the first request. */
export class OptionError extends TypeError {
  override readonly name = 'OptionError'
}

/** What a value has to be: in words, and as a test. A value that may be a secret is not shown. */
export type Rule = readonly [rule: string, holds: (value: unknown) => boolean, secret?: true]

export const isBoolean: Rule = ['true or false', value => typeof value === 'boolean']
export const isFunction: Rule = ['a function', value => typeof value === 'function']
export const isObject: Rule = [
  'an object',
  value => typeof value === 'object' && value !== null && !Array.isArray(value),
]
/** Where a key may stand by mistake. */
export const isSecretObject: Rule = [isObject[0], isObject[1], true]
export const isCount: Rule = ['an integer of at least 1', value => isInteger(value, 1)]
export const isSize: Rule = ['an integer of at least 0', value => isInteger(value, 0)]
/** Within what a Date can hold. */
export const isInstant: Rule = [
  'milliseconds since the Unix epoch',
  value => typeof value === 'number' && Math.abs(value) <= 8.64e15,
]

export function isOneOf(values: readonly unknown[]): Rule {
  return [`one of ${values.map(show).join(', ')}`, value => values.includes(value)]
}

/** An object with these methods: a port that was really filled. */
export function hasMethods(...methods: readonly string[]): Rule {
  return [
    `an object with the methods ${methods.join(', ')}`,
    value =>
      methods.every(name => typeof (value as Port | null | undefined)?.[name] === 'function'),
  ]
}
type Port = Readonly<Record<string, unknown>>

/** The rule, or null. */
export function orNull([rule, holds]: Rule): Rule {
  return [`${rule}, or null`, value => value === null || holds(value)]
}

/** The rule, or not given at all. */
export function optional([rule, holds]: Rule): Rule {
  return [rule, value => value === undefined || holds(value)]
}

/**
 * Checks every option by its rule, and that there is no other, so that a typing error is not a
 * silent default.
 *
 * @param within stands before the names in messages, such as `plans.`
 * @throws OptionError naming the option, the rule and the value
 */
export function checkOptions<Options extends object>(
  options: Options,
  rules: { readonly [name in keyof Options]-?: Rule },
  within = '',
): Options {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(rules, name)) continue
    const known = Object.keys(rules).join(', ')
    throw new OptionError(`Expected options among ${known}, got \`${within}${name}\``)
  }
  for (const [name, [rule, holds, secret]] of Object.entries<Rule>(rules)) {
    const value = options[name as keyof Options]
    if (holds(value)) continue
    const shown = secret && typeof value === 'string' ? 'a string' : show(value)
    throw new OptionError(`Expected \`${within}${name}\` to be ${rule}, got ${shown}`)
  }
  return options
}

function isInteger(value: unknown, minimum: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= minimum
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 80)}'`
  if (typeof value === 'function') return 'a function'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
