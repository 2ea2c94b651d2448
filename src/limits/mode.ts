import { isOneOf } from '../lib/check-options.js'

/** Whether requests are limited; in shadow mode, they are only counted. */
export type RateLimitMode = boolean | 'shadow'

/** The rule of an option that takes one. */
export const RATE_LIMIT_MODE = isOneOf([true, false, 'shadow'])
