export type { ApiHandler, ApiRequest, ApiResponse, Identity } from './api.js'
export type { ApiKey, ApiKeys, KnownKey } from './api-keys.js'
export type { Awaitable } from './awaitable.js'
export {
  ApiError,
  type ApiErrorOptions,
  ERROR_STATUS,
  type ErrorCode,
  type RateLimit,
} from './errors.js'
export type { StoreEmitter, StoreEvents } from './events.js'
export type { Int64 } from './int64.js'
export { parseJson, toJson } from './json.js'
export type { NewPet, Pet } from './model.js'
export { OptionError } from './options.js'
export type { Pets } from './pets.js'
export { PLANS, type Plan, type PlanTable, type Policy } from './plans.js'
export type {
  Clock,
  PetFilter,
  PetSnapshot,
  PetStorage,
  RateLimitSnapshot,
  RateLimitStore,
} from './ports.js'
export type { ListPetsQuery } from './query.js'
export { type Decision, decide, type Usage } from './rate-limit.js'
export {
  BASE_PATH,
  type Operation,
  PAGE_SIZE,
  PET_STATUSES,
  type PetStatus,
  SUNSET,
} from './specification.js'
export { createStore, type MeteredPets, type Store, type StoreOptions } from './store.js'
