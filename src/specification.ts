/**
 * The values that the specification fixes, as data: read at run time, in the schemas and in the
 * OpenAPI document.
 */

/** The only values of `status` (spec §2). */
export const PET_STATUSES = ['available', 'pending', 'sold'] as const
export type PetStatus = (typeof PET_STATUSES)[number]

/** Animals in one list answer (spec §4.1, §8). */
export const PAGE_SIZE = { minimum: 1, maximum: 100, default: 20 } as const

/**
 * When `GET /pets/{petId}` is removed, in ms since the epoch: 5 December 2030, 00:00 UTC (spec
 * §4.3, §9).
 */
export const SUNSET = Date.UTC(2030, 11, 5)

/** The path that every base address ends with (spec §9). */
export const BASE_PATH = '/v1'

/** The operation names of the specification (spec §4). */
export type Operation = 'listPets' | 'createPet' | 'getPet'
