export type { RateLimit } from '../../src/errors.js'
export { ApiError } from '../../src/errors.js'
export { type CallOptions, type Client, type ClientOptions, createClient } from './client.js'
export {
  ApiKeyBannedError,
  ConnectionError,
  ContractError,
  QueueFullError,
  RateLimitError,
} from './errors.js'
