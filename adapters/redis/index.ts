export { RedisError } from './failures.js'
export { type RedisOptions, redisRateLimits } from './open.js'
export type { RedisRateLimits } from './rate-limits.js'
export type { RedisSend } from './send.js'
