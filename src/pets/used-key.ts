import * as z from '../lib/zod.js'
import { petSchema } from './schema.js'

const onceFields = {
  /** Id of the API key that used the idempotency key. */
  scope: z.string('must be a string'),
  /** Chosen by the client: 1 to 255 characters of printable ASCII. */
  idempotencyKey: z.string('must be a string'),
  /** Identifies the pet, so that reuse for another one is detected. Opaque and short. */
  fingerprint: z.string('must be a string'),
  /** End of use, in ms since the epoch. */
  expiresAt: z.number('must be a number'),
}

/** Identifies a create, so that a retry stores its pet only once. */
export const onceSchema = z.object(onceFields, 'must be an object')
export type Once = Readonly<z.infer<typeof onceSchema>>

/** A key with the pet it stored. Pets never change, so this is also the first response. */
export const usedKeySchema = z.object(
  { ...onceFields, petId: petSchema.shape.id },
  'must be an object',
)
export type UsedKey = Readonly<z.infer<typeof usedKeySchema>>
