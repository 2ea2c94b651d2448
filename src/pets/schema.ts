import { INT64_RANGE, type Int64, isInt64, looksRounded, shortestForm } from '../lib/int64.js'
import * as z from '../lib/zod.js'
import { PET_STATUSES } from './specification.js'

export const petStatusSchema = z
  .enum(PET_STATUSES, `must be one of ${PET_STATUSES.join(', ')}`)
  .register(z.globalRegistry, { description: 'Whether the animal can be adopted.' })

/** The body of `createPet` (spec §2). Unknown fields are dropped. */
export const newPetSchema = z.object(
  {
    name: z
      .string('must be a string')
      .register(z.globalRegistry, { description: "The animal's name." }),
    categoryId: z
      .pipe(
        z.custom<Int64>(isInt64, { error: ({ input }) => int64Rule(input) }),
        z.transform(shortestForm),
      )
      .register(z.globalRegistry, {
        type: 'integer',
        format: 'int64',
        description: 'The category the animal belongs to.',
      }),
    status: z.optional(petStatusSchema),
  },
  'must be a JSON object',
)
export type NewPet = Readonly<z.infer<typeof newPetSchema>>

export const ID_RULE = `must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}`

/** A stored animal (spec §2). This service assigns safe integers as ids. */
export const petSchema = z.object({
  id: z.int(ID_RULE).check(z.minimum(1, ID_RULE)).register(z.globalRegistry, {
    format: 'int64',
    description: 'Assigned by the service when the animal is added.',
  }),
  ...newPetSchema.shape,
  status: z.exactOptional(petStatusSchema),
})
export type Pet = Readonly<z.infer<typeof petSchema>>

/** Lists the violated rules: "`name` is required; …". @param subject names the whole input */
export function describeIssues(
  { issues }: z.core.$ZodError,
  input: unknown,
  subject = 'The body',
): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => {
      if (path.length === 0) return `${subject} ${message}`
      const rule = valueAt(input, path) === undefined ? 'is required' : message
      return `\`${path.map(String).join('.').slice(0, 80)}\` ${rule}`
    })
    .join('; ')
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)[key], input)
}

function int64Rule(input: unknown): string {
  if (typeof input === 'number' && Number.isInteger(input) && isInt64(BigInt(input))) {
    return `must be a bigint beyond ${Number.MAX_SAFE_INTEGER}, such as ${BigInt(input)}n`
  }
  const rule = `must be an integer from ${INT64_RANGE.minimum} to ${INT64_RANGE.maximum}`
  if (typeof input === 'string') return `${rule}, got a string`
  if (typeof input !== 'bigint') return rule
  return `${rule}, got ${input}${looksRounded(input) ? ', which looks rounded' : ''}`
}
