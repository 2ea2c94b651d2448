import * as z from 'zod'
import { INT64_RANGE } from '../../src/int64.js'
import {
  errorBodySchema,
  newPetSchema,
  petSchema,
  petStatusSchema,
  petsSchema,
} from '../../src/model.js'

/** The schemas of the specification (spec §2) as JSON Schema, for `components.schemas`. */
export function jsonSchemas(): Readonly<Record<string, object>> {
  const named = z.registry<{ id: string }>()
  named.add(petSchema, { id: 'Pet' })
  named.add(newPetSchema, { id: 'NewPet' })
  named.add(petStatusSchema, { id: 'PetStatus' })
  named.add(petsSchema, { id: 'Pets' })
  named.add(errorBodySchema, { id: 'Error' })
  const { schemas } = z.toJSONSchema(named, {
    // Describes requests: unknown fields are ignored, so they are not forbidden.
    io: 'input',
    // An int64 is a `custom` schema, fully described by its metadata.
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
    // Here, as `z.toJSONSchema` cannot copy a bigint.
    Object.assign(schemas[name]?.properties?.['categoryId'] as object, INT64_RANGE)
  }
  return schemas
}

export function schemaRef(name: string): string {
  return `#/components/schemas/${name}`
}
