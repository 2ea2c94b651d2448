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
  settingsOf,
} from '../../src/lib/check-options.js'
import { isInstant } from '../../src/lib/time.js'
import { OPERATIONS } from '../../src/pets/specification.js'
import type { Exchange } from '../verdict/log/exchange.js'

const FILTER_OPTIONS = {
  /** The id of a key; null for requests without a valid one. */
  keyId: optional(orNull(isText)),
  operation: optional(isOneOf(OPERATIONS)),
  method: optional(isText),
  path: optional(isText),
  status: optional(isCount),
  /** Inclusive start. */
  since: optional(isInstant),
  /** Exclusive end. */
  until: optional(isInstant),
} satisfies Declared
export interface ExchangeFilter extends OptionsOf<typeof FILTER_OPTIONS> {}

/** @throws OptionError */
export function matcher(filter: ExchangeFilter | undefined): (exchange: Exchange) => boolean {
  check('filter', filter, optional(isObject))
  const { since = -Infinity, until = Infinity, ...wanted } = settingsOf(FILTER_OPTIONS, filter)
  const fields = Object.entries(wanted) as [keyof Exchange, unknown][]
  return exchange =>
    exchange.at >= since &&
    exchange.at < until &&
    fields.every(([name, value]) => value === undefined || exchange[name] === value)
}
