export type { RedisClient } from './connect.js'
export { RedisError } from './failures.js'
export { type RedisOptions, redisRateLimits } from './open.js'
export type { RedisRateLimits } from './rate-limits.js'
