export {
  ApiError,
  type ApiErrorOptions,
  ERROR_STATUS,
  type ErrorCode,
  type RateLimit,
} from './api-error.js'
export type { StoreEmitter, StoreEvents } from './events.js'
export type { Awaitable } from './lib/async.js'
export { OptionError } from './lib/check-options.js'
export type { Int64 } from './lib/int64.js'
export { parseJson, toJson } from './lib/json.js'
export type { ListenerFailure } from './lib/listeners.js'
export { type Limits, PLANS, type Plan, type PlanTable } from './limits/plans.js'
export { type Decision, decide, type Usage } from './limits/windows-and-bans.js'
export type { CreateOptions, Pets } from './pets/operations.js'
export type { ListPetsQuery } from './pets/query.js'
export type { NewPet, Pet } from './pets/schema.js'
export {
  BASE_PATH,
  type Operation,
  PAGE_SIZE,
  PET_STATUSES,
  type PetStatus,
  SUNSET,
} from './pets/specification.js'
export type {
  Clock,
  InsertedOnce,
  IsGone,
  Once,
  PetFilter,
  PetSnapshot,
  PetStorage,
  RateLimitSnapshot,
  RateLimitStore,
  UsedKey,
} from './ports.js'
export type { ApiKey, ApiKeys, KnownKey, Sha256 } from './protocol/api-keys.js'
export type { ApiHandler, ApiRequest, ApiResponse, Identity } from './protocol/api-request.js'
export { createStore, type MeteredPets, type Store, type StoreOptions } from './store.js'
