import { describeSyntaxError, parseFindingDuplicate } from '../../../src/lib/json-syntax.js'
import * as z from '../../../src/lib/zod.js'
import { type Pet, petSchema } from '../../../src/pets/schema.js'
import { usedKeySchema } from '../../../src/pets/used-key.js'
import type { PetSnapshot } from '../../../src/ports.js'

/** All animals of a document, except those still in the journal when it was written. */
export interface ParsedDocument extends PetSnapshot {
  readonly journal?: true | undefined
}

/**
 * Reads a document in any layout. `nextId` is optional. Unknown fields are refused, as the next
 * save would lose them, and so is a duplicate name with different values in one object.
 *
 * @throws Error naming the pet, the field and the rule, or where the text stops being JSON
 */
export function parseDocument(text: string): ParsedDocument {
  const { value, duplicate } = parse(text)
  const parsed = documentSchema.safeParse(value, { reportInput: true })
  if (!parsed.success) throw new Error(describe(parsed.error.issues[0] as z.core.$ZodIssue))
  const { pets, nextId, idempotencyKeys, journal } = parsed.data
  checkIds(text, pets, nextId)
  if (duplicate) throw new Error(`\`${duplicate.name}\` appears twice, at ${duplicate.place}`)
  const next = nextId ?? pets.reduce((next, { id }) => Math.max(next, id + 1), 1)
  return { pets, nextId: next, idempotencyKeys, journal }
}

function parse(text: string): ReturnType<typeof parseFindingDuplicate> {
  try {
    return parseFindingDuplicate(text)
  } catch (cause) {
    const where = describeSyntaxError(text)
    throw where === '' ? cause : new Error(`not valid JSON${where}`, { cause })
  }
}

/** @throws Error naming the pet and its line */
function checkIds(text: string, pets: readonly Pet[], nextId = Number.POSITIVE_INFINITY): void {
  const positions = new Map<number, number>()
  for (const [position, { id }] of pets.entries()) {
    const earlier = positions.get(id)
    if (earlier !== undefined) {
      throw new Error(`${nameOf(text, position)} has the id ${id} of ${nameOf(text, earlier)}`)
    }
    if (id >= nextId) {
      throw new Error(
        `\`nextId\` must be greater than the id ${id} of ${nameOf(text, position)}, got ${nextId}`,
      )
    }
    positions.set(id, position)
  }
}

function nameOf(text: string, position: number): string {
  // Every pet has one `"id":`, which no string contains, because quotes are escaped there.
  const start = [...text.matchAll(/"id"\s*:/g)][position]?.index ?? 0
  return `\`pets[${position}]\` (line ${text.slice(0, start).split('\n').length})`
}

export const storedPetSchema = z.strictObject(petSchema.shape, 'must be an object')
export const storedKeySchema = z.strictObject(usedKeySchema.shape, 'must be an object')

const documentSchema = z.strictObject(
  {
    pets: z.array(storedPetSchema, 'must be an array'),
    nextId: z.optional(petSchema.shape.id),
    idempotencyKeys: z.optional(z.array(storedKeySchema, 'must be an array')),
    journal: z.optional(z.literal(true, 'must be true')),
    crc32: z.optional(z.string('must be a string')),
  },
  'must be an object',
)

function describe(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(step => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
  const field = `\`${path.join('').slice(1)}\``
  const subject = path.length === 0 ? 'the document' : field
  if (issue.code === 'unrecognized_keys') {
    return `${subject} has the unknown field \`${issue.keys[0]}\``
  }
  if (issue.input === undefined) return `${field} is required`
  return `${subject} ${issue.message}`
}
