import {
  check,
  isCount,
  isObject,
  isOneOf,
  isText,
  optional,
  orNull,
  type Rule,
  type Rules,
  readOptions,
} from '../../src/lib/options.js'
import { type Instant, instantOf } from '../../src/lib/time.js'
import { OPERATIONS, type Operation } from '../../src/pets/specification.js'
import type { Exchange } from '../exchanges/exchange.js'

/** Matches exchanges that have all of it. */
export interface ExchangeFilter {
  /** The id of a key; null for requests without a valid one. */
  readonly key?: string | null | undefined
  readonly operation?: Operation | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly status?: number | undefined
  /** From this instant on, */
  readonly since?: Instant | undefined
  /** and before this one. */
  readonly until?: Instant | undefined
}

/** @throws OptionError */
export function matcher(filter: ExchangeFilter | undefined): (exchange: Exchange) => boolean {
  check('filter', filter, optional(isObject))
  const { since, until, ...wanted } = readOptions<ExchangeFilter, object>(filter, {}, FILTER_RULES)
  const from = since === undefined ? Number.NEGATIVE_INFINITY : instantOf('since', since)
  const to = until === undefined ? Number.POSITIVE_INFINITY : instantOf('until', until)
  const fields = Object.entries(wanted) as [keyof Exchange, unknown][]
  return exchange =>
    exchange.at >= from &&
    exchange.at < to &&
    fields.every(([name, value]) => value === undefined || exchange[name] === value)
}

const ANYTHING: Rule = { expected: 'anything', accepts: () => true }

const FILTER_RULES: Rules<ExchangeFilter> = {
  key: optional(orNull(isText)),
  operation: optional(isOneOf(OPERATIONS)),
  method: optional(isText),
  path: optional(isText),
  status: optional(isCount),
  since: ANYTHING,
  until: ANYTHING,
}
