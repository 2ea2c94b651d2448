import { ERROR_STATUS } from '../../../src/api-error.js'
import { INT64_RANGE } from '../../../src/lib/int64.js'
import * as z from '../../../src/lib/zod.js'
import { newPetSchema, petSchema, petStatusSchema } from '../../../src/pets/schema.js'

/** The schemas of the specification as JSON Schema, for `components.schemas` (spec §2). */
export function jsonSchemas(): Readonly<Record<string, object>> {
  const named = z.registry<{ id: string }>()
  named.add(petSchema, { id: 'Pet' })
  named.add(newPetSchema, { id: 'NewPet' })
  named.add(petStatusSchema, { id: 'PetStatus' })
  named.add(petsSchema, { id: 'Pets' })
  named.add(errorBodySchema, { id: 'Error' })
  const { schemas } = z.toJSONSchema(named, {
    // Requests may have unknown fields, which are ignored.
    io: 'input',
    // An int64 is a `custom` schema, described by its metadata.
    unrepresentable: 'any',
    uri: schemaRef,
    override: ({ jsonSchema }) => {
      if (jsonSchema.type !== 'integer') return
      // The bounds of a JavaScript number are not part of the contract.
      delete jsonSchema.minimum
      delete jsonSchema.maximum
    },
  })
  for (const schema of Object.values(schemas)) {
    delete schema.$schema
    delete schema.$id
  }
  for (const name of ['NewPet', 'Pet']) {
    // Set here, as `z.toJSONSchema` cannot copy a bigint.
    Object.assign(schemas[name]?.properties?.['categoryId'] as object, INT64_RANGE)
  }
  return schemas
}

const petsSchema = z
  .array(petSchema)
  .register(z.globalRegistry, { description: 'In ascending order of id.' })

/** The body of every failure (spec §2). The list of codes is closed; readers may be lenient. */
const errorBodySchema = z.object({
  code: z.string().register(z.globalRegistry, {
    description: 'Machine-readable error code.',
    enum: Object.keys(ERROR_STATUS),
  }),
  message: z
    .string()
    .register(z.globalRegistry, { description: 'Human-readable description of the error.' }),
  status: z.int().register(z.globalRegistry, { description: 'The HTTP status code.' }),
})

export function schemaRef(name: string): string {
  return `#/components/schemas/${name}`
}
