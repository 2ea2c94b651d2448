/// <reference lib="esnext.disposable" preserve="true" />
export type { RateLimit } from '../../src/api-error.js'
export { ApiError } from '../../src/api-error.js'
export { OptionError } from '../../src/lib/check-options.js'
export type { Int64 } from '../../src/lib/int64.js'
export { parseJson, toJson } from '../../src/lib/json.js'
export type { ListenerFailure } from '../../src/lib/listeners.js'
export type { NewPet, Pet } from '../../src/pets/schema.js'
export { type CallOptions, type Client, type CreateCallOptions, createClient } from './client.js'
export type { ClientOptions } from './client-options.js'
export {
  ApiKeyBannedError,
  ClosedError,
  ConnectionError,
  ContractError,
  QueueFullError,
  RateLimitError,
} from './errors.js'
export type { Degraded, Retrying, Sending, Wait, WaitReason } from './hooks.js'
export type { ClientSnapshot, UnansweredCreate } from './idempotency-keys.js'
export type { Sleep } from './time.js'
