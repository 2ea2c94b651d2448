import * as z from 'zod'
import { ERROR_STATUS } from './errors.js'
import { PET_STATUSES } from './specification.js'

/** A number whenever it is a safe integer, a bigint beyond: digits are never rounded. */
export type Int64 = number | bigint

const INT64_RULE = 'must be an integer from -9223372036854775808 to 9223372036854775807'

/** Any int64, given as a safe integer or as a bigint; the result is its one `Int64` form. */
export const int64Schema = z
  .custom<Int64>(isInt64, INT64_RULE)
  .transform(shortestForm)
  .meta({ type: 'integer', format: 'int64' })

export const petStatusSchema = z
  .enum(PET_STATUSES, `must be one of ${PET_STATUSES.join(', ')}`)
  .describe('Whether the animal can be adopted.')

/** The body of `createPet` (spec §2). Fields it does not name are dropped. */
export const newPetSchema = z.object(
  {
    name: z.string('must be a string').describe("The animal's name."),
    categoryId: int64Schema.meta({ description: 'The category the animal belongs to.' }),
    status: petStatusSchema.optional(),
  },
  'must be a JSON object',
)
export type NewPet = Readonly<z.infer<typeof newPetSchema>>

/**
 * An animal as it is stored and answered (spec §2). The service gives ids that are safe integers.
 */
export const petSchema = z.object({
  id: z
    .int('must be a positive integer')
    .min(1, 'must be a positive integer')
    .meta({ format: 'int64', description: 'Given by the service when the animal is added.' }),
  ...newPetSchema.shape,
  status: petStatusSchema.exactOptional(),
})
export type Pet = Readonly<z.infer<typeof petSchema>>

export const petsSchema = z.array(petSchema, 'must be a JSON array').describe('In ascending id.')

/** The body of every failure (spec §2). Its codes are a closed list, which a reader need not close. */
export const errorBodySchema = z.object({
  code: z.string().meta({
    description: 'What failed, for machines.',
    enum: Object.keys(ERROR_STATUS),
  }),
  message: z.string().describe('What failed, for people.'),
  status: z.int().describe('The HTTP status code.'),
})

/** Every pet and the next id to give: all that a storage holds. */
export const petSnapshotSchema = z.object({
  pets: z.array(petSchema),
  nextId: z.int().min(1),
})

/** The rules that an input breaks, one per field: "`name` is required; `status` must be one of …". */
export function describeIssues({ issues }: z.ZodError, input: unknown): string {
  return issues
    .map(({ path, message }) => {
      const field = path.map(String).join('.')
      if (field === '') return `The body ${message}`
      return valueAt(input, path) === undefined
        ? `\`${field}\` is required`
        : `\`${field}\` ${message}`
    })
    .join('; ')
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown>)[key], input)
}

function isInt64(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value
  return Number.isSafeInteger(value)
}

function shortestForm(value: Int64): Int64 {
  if (typeof value === 'number') return value === 0 ? 0 : value
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}
