import { isOneOf } from '../lib/check-options.js'

/** `true` limits requests; `'shadow'` only counts them. */
export type RateLimitMode = boolean | 'shadow'

export const RATE_LIMIT_MODE = isOneOf([true, false, 'shadow'])
