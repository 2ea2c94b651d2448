/** Constants of the specification, shared by the store, the schemas and the OpenAPI document. */

/** Spec §2. */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const
export type PetStatus = (typeof PET_STATUSES)[number]

/** Spec §4.1, §8. */
export const PAGE_SIZE = { minimum: 1, maximum: 100, default: 20 } as const

/** Removal of `GET /pets/{petId}`, in ms since the epoch (spec §4.3, §9). */
export const SUNSET = Date.UTC(2030, 11, 5)

/** Every base address ends with this path (spec §9). */
export const BASE_PATH = '/v1'

/** Spec §4. */
export const OPERATIONS = ['listPets', 'createPet', 'getPet'] as const
export type Operation = (typeof OPERATIONS)[number]
