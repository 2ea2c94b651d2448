import * as z from '../lib/zod.js'
import { petSchema } from './schema.js'

const onceFields = {
  /** Whose key it is: the id of an API key. */
  scope: z.string('must be a string'),
  /** Chosen by the client: 1 to 255 characters of printable ASCII. */
  idempotencyKey: z.string('must be a string'),
  /** Differs for another pet, so that a key that is used twice is recognized. Opaque and short. */
  fingerprint: z.string('must be a string'),
  /** When the key is free again, in ms since the epoch. */
  expiresAt: z.number('must be a number'),
}

/** Names a create, so that it can be sent again and stores its pet once. */
export const onceSchema = z.object(onceFields, 'must be an object')
export type Once = Readonly<z.infer<typeof onceSchema>>

/** A key with the pet it stored. Pets never change, so the pet is the first answer. */
export const usedKeySchema = z.object(
  { ...onceFields, petId: petSchema.shape.id },
  'must be an object',
)
export type UsedKey = Readonly<z.infer<typeof usedKeySchema>>
