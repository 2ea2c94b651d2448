import {
  check,
  type Declared,
  isCount,
  isObject,
  isOneOf,
  isText,
  type OptionsOf,
  optional,
  orNull,
  rule,
  settingsOf,
} from '../../src/lib/check-options.js'
import { type Instant, instantOf } from '../../src/lib/time.js'
import { OPERATIONS } from '../../src/pets/specification.js'
import type { Exchange } from '../verdict/log/exchange.js'

const INSTANT = optional(rule<Instant>('an instant', () => true))

const FILTER_OPTIONS = {
  /** The id of a key; null for requests without a valid one. */
  keyId: optional(orNull(isText)),
  operation: optional(isOneOf(OPERATIONS)),
  method: optional(isText),
  path: optional(isText),
  status: optional(isCount),
  /** Inclusive start. */
  since: INSTANT,
  /** Exclusive end. */
  until: INSTANT,
} satisfies Declared
export interface ExchangeFilter extends OptionsOf<typeof FILTER_OPTIONS> {}

/** @throws OptionError */
export function matcher(filter: ExchangeFilter | undefined): (exchange: Exchange) => boolean {
  check('filter', filter, optional(isObject))
  const { since, until, ...wanted } = settingsOf(FILTER_OPTIONS, filter)
  const from = since === undefined ? Number.NEGATIVE_INFINITY : instantOf('since', since)
  const to = until === undefined ? Number.POSITIVE_INFINITY : instantOf('until', until)
  const fields = Object.entries(wanted) as [keyof Exchange, unknown][]
  return exchange =>
    exchange.at >= from &&
    exchange.at < to &&
    fields.every(([name, value]) => value === undefined || exchange[name] === value)
}
