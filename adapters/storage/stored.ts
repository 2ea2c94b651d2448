import * as z from '../../src/lib/zod.js'
import { describeIssues, ID_RULE, type NewPet, newPetSchema } from '../../src/pets/schema.js'
import type { Once, UsedKey } from '../../src/ports.js'

/** What the id of a stored animal has to be. */
export const idSchema = z.int(ID_RULE).check(z.minimum(1, ID_RULE))

const onceFields = {
  scope: z.string('must be a string'),
  key: z.string('must be a string'),
  fingerprint: z.string('must be a string'),
  expiresAt: z.number('must be a number'),
}
const onceSchema = z.object(onceFields, 'must be an object')

/** An idempotency key in a file. */
export const usedKeySchema = z.strictObject({ ...onceFields, petId: idSchema }, 'must be an object')

/**
 * A copy of what a JavaScript caller passes to a storage: a pet that cannot be read again must not be
 * written, and would fail the batch it shares.
 *
 * @throws TypeError naming the field
 */
export function readNewPet(pet: NewPet): NewPet {
  return read(newPetSchema, pet, 'The pet')
}

/** The same for an idempotency key. @throws TypeError naming the field */
export function readOnce(once: Once | UsedKey): Once {
  return read(onceSchema, once, 'The idempotency key')
}

function read<T>(schema: z.ZodMiniType<T>, value: unknown, subject: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new TypeError(describeIssues(parsed.error, value, subject))
}
