import * as z from 'zod'
import { parseJson } from '../../src/json.js'
import { petSchema } from '../../src/model.js'
import type { PetSnapshot } from '../../src/ports.js'

/**
 * Reads a document in whatever layout. `nextId` may be missing. A field that a pet does not have is
 * refused: the next save would lose it.
 *
 * @throws Error naming the pet, the field and the rule, or where the text stops being JSON
 */
export async function parseDocument(text: string): Promise<PetSnapshot> {
  const parsed = documentSchema.safeParse(await parseJson(text), { reportInput: true })
  if (!parsed.success) throw new Error(describe(parsed.error.issues[0] as z.core.$ZodIssue))
  const { pets, nextId } = parsed.data
  return { pets, nextId: nextId ?? pets.reduce((next, { id }) => Math.max(next, id + 1), 1) }
}

const documentSchema = z.strictObject({
  pets: z.array(z.strictObject(petSchema.shape), 'must be an array'),
  nextId: z.int('must be a positive integer').min(1, 'must be a positive integer').optional(),
})

/** The field as in JavaScript, `pets[2].name`, and its rule. */
function describe(issue: z.core.$ZodIssue): string {
  const place = issue.path.map(step =>
    typeof step === 'number' ? `[${step}]` : `.${String(step)}`,
  )
  const field = `\`${place.join('').slice(1)}\``
  const subject = place.length === 0 ? 'the document' : field
  if (issue.code === 'unrecognized_keys') {
    return `${subject} has the unknown field \`${issue.keys[0]}\``
  }
  if (issue.input === undefined) return `${field} is required`
  return `${subject} ${issue.message.startsWith('must') ? issue.message : 'must be an object'}`
}
