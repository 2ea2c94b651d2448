import { LONGEST_TIMER } from '../../src/lib/options.js'
import { durationOf, INSTANT_TEXT, instantOf } from '../../src/lib/time.js'
import { UsageError } from './usage-error.js'
import { withoutUrl } from './without-secrets.js'

/** An option of the command line: what reads and checks it, and what `--help` and the page say. */
export interface Option<T = unknown> extends About, More {
  readonly kind: Kind<T>
}

/** Options by name, such as `stagingPort` for `--staging-port`. */
export type Options = Readonly<Record<string, Option>>

/** What a command receives: every option as a value of its type. */
export type SettingsOf<O extends Options> = {
  readonly [N in keyof O]: O[N] extends Option<infer T> ? T : never
}

interface About {
  readonly help: string
  /** The placeholder of its value; an option without one is on or off. */
  readonly value?: string
  readonly default?: string
}

interface More {
  readonly short?: string
  /** What the bare option stands for, where the value may be left out. */
  readonly alone?: string
  /** The option without which it has no meaning. */
  readonly needs?: string
}

/** A type of values. */
interface Kind<T> {
  /** Completes the sentence "--port takes …". */
  readonly takes: string
  /** @returns undefined for anything else */
  readonly read: (text: string) => T | undefined
  /** The option may be repeated: its texts are joined with commas. */
  readonly isList?: true
}

/** @param value its placeholder, and after `=` its default: `n=4280` */
export function option<T>(
  kind: Kind<T>,
  value: `${string}=${string}`,
  help: string,
  more?: More,
): Option<T>
export function option<T>(
  kind: Kind<T>,
  value: string,
  help: string,
  more?: More,
): Option<T | undefined>
export function option<T>(kind: Kind<T>, value: string, help: string, more?: More): Option<T> {
  const [placeholder = '', standard] = value.split('=')
  return {
    kind,
    help,
    value: placeholder,
    ...(standard !== undefined && { default: standard }),
    ...more,
  }
}

/** An option that is on or off. */
export function toggle(help: string, short?: string): Option<boolean> {
  return { help, kind: { takes: 'no value', read: () => true }, ...(short && { short }) }
}

/** @throws UsageError */
export function readOption(name: string, { kind, ...about }: Option, given?: string): unknown {
  const text = given ?? about.default
  if (text === undefined) return about.value === undefined ? false : undefined
  return readValue(kind, text, flagOf(name))
}

/** @throws UsageError */
export function readValue<T>(kind: Kind<T>, text: string, name: string): T {
  const value = kind.read(text)
  if (value !== undefined) return value
  const [flag = ''] = name.split(' ')
  throw new UsageError(`${name} takes ${kind.takes}, got '${withoutUrl(text)}'`, flag)
}

export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}

export const text: Kind<string> = { takes: 'a value', read: given => given }

export function wholeNumber(least: number, most: number): Kind<number> {
  return {
    takes: `a whole number from ${least} to ${most}`,
    read: given =>
      /^\d+$/.test(given) && Number(given) >= least && Number(given) <= most
        ? Number(given)
        : undefined,
  }
}

/** In ms. */
export function duration({ least = 1, most = LONGEST_TIMER } = {}): Kind<number> {
  const end = most < Number.MAX_SAFE_INTEGER ? ` to ${most}ms` : ''
  return {
    takes: `a duration such as 500ms, 61s, 24h or 1d, in whole ms from ${least}ms${end}`,
    read: given => {
      const ms = valid(() => durationOf('', given))
      return Number.isInteger(ms) && Number(ms) >= least && Number(ms) <= most ? ms : undefined
    },
  }
}

/** In ms since the Unix epoch. */
export const instant: Kind<number> = {
  takes: INSTANT_TEXT,
  read: given => valid(() => instantOf('', given)),
}

/** The same, as it was written. */
export const instantText: Kind<string> = {
  takes: INSTANT_TEXT,
  read: given => (instant.read(given) === undefined ? undefined : given),
}

export function oneOf<const T>(words: Readonly<Record<string, T>>): Kind<T> {
  return {
    takes: Object.keys(words)
      .join(', ')
      .replace(/, (\w+)$/, ' or $1'),
    read: given => (Object.hasOwn(words, given) ? words[given] : undefined),
  }
}

export const list: Kind<readonly string[]> = {
  takes: 'values',
  isList: true,
  read: given => given.split(',').filter(word => word !== ''),
}

/** A host, or a host and a port. */
export interface Address {
  readonly host: string
  readonly port: number
}

/** `on` is the word of the bare option. */
export const addressOrOn: Kind<Address | 'on'> = {
  takes: '<host> or <host>:<port>',
  read: given => {
    if (given === 'on') return given
    if (/^\d*$/.test(given) || !URL.canParse(`http://${given}`)) return undefined
    const { hostname, port, pathname } = new URL(`http://${given}`)
    if (hostname === '' || pathname !== '/') return undefined
    // An address of IPv6 without its brackets; 9464 is the port of exporters of OpenTelemetry.
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 9464 : Number(port) }
  },
}

function valid<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
