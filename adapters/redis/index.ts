export type { RedisClient } from './connect.js'
export { RedisError } from './failures.js'
export { type RedisOptions, redisRateLimitStore } from './open.js'
export type { RedisRateLimitStore } from './rate-limits.js'
