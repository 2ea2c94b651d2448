/** What the specification fixes, as data for the store, the schemas and the OpenAPI document. */

/** The values of `status` (spec §2). */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const
export type PetStatus = (typeof PET_STATUSES)[number]

/** Bounds and default of `limit` (spec §4.1, §8). */
export const PAGE_SIZE = { minimum: 1, maximum: 100, default: 20 } as const

/** When `GET /pets/{petId}` is removed, in ms since the epoch (spec §4.3, §9). */
export const SUNSET = Date.UTC(2030, 11, 5)

/** The path that every base address ends with (spec §9). */
export const BASE_PATH = '/v1'

/** The operation names (spec §4). */
export const OPERATIONS = ['listPets', 'createPet', 'getPet'] as const
export type Operation = (typeof OPERATIONS)[number]
