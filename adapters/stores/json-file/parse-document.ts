import { constants } from 'node:buffer'
import { isPlain, parseJson } from '../../../src/lib/json.js'
import { describeSyntaxError, parseFindingDuplicate } from '../../../src/lib/json-syntax.js'
import { decodeUtf8 } from '../../../src/lib/utf8.js'
import * as z from '../../../src/lib/zod.js'
import { type Pet, petSchema } from '../../../src/pets/schema.js'
import { usedKeySchema } from '../../../src/pets/used-key.js'
import type { PetSnapshot } from '../../../src/ports.js'

export interface ParsedDocument extends PetSnapshot {
  readonly journal?: true | undefined
}

/**
 * Reads a document in any layout. Refuses unknown fields, which the next save would lose, and a name
 * with two values in one object. Reads a document of ours in parts, as no string exceeds 512 MiB.
 * @param isIntact true for a document of ours, which has no name twice and is read faster
 */
export function parseDocument(
  bytes: Buffer,
  isIntact = false,
  partSize = 1_048_576,
): ParsedDocument {
  try {
    const read = Array.from(partsOf(bytes, partSize), part => parsePart(decodeUtf8(part), isIntact))
    const pets = read.flatMap(part => part.pets)
    return toSnapshot('', { ...(read.at(-1) as Part), pets })
  } catch (error) {
    if (bytes.length > constants.MAX_STRING_LENGTH) throw error
    // Only the whole text shows where something is wrong.
    const text = decodeUtf8(bytes)
    return toSnapshot(text, parsePart(text))
  }
}

/** True for a list of the API, or `db.json` of json-server, which the command `copy` reads. */
export function isForeign(bytes: Buffer): boolean {
  return /^\s*\[|"id"\s*:\s*"/.test(bytes.subarray(0, 65_536).toString('latin1'))
}

/** The last part has all fields but pets. */
function* partsOf(bytes: Buffer, size: number): Generator<Buffer> {
  const begin = Buffer.from('{"pets":[\n')
  if (!bytes.subarray(0, begin.length).equals(begin)) return yield bytes
  let start = begin.length
  // No string contains a line break.
  for (let end = endAfter(size); end > 0; end = endAfter(start + size)) {
    yield Buffer.concat([begin, bytes.subarray(start, end), Buffer.from(']}')])
    start = end + 1
  }
  yield Buffer.concat([begin, bytes.subarray(start)])

  function endAfter(position: number): number {
    return bytes.indexOf(',\n{"id":', position)
  }
}

type Part = z.infer<typeof documentSchema>

function parsePart(text: string, isIntact = false): Part {
  const { value, duplicate } = isIntact ? { value: parseJson(text) } : parse(text)
  const parsed = documentSchema.safeParse(value, { reportInput: true })
  if (!parsed.success) throw new Error(describe(parsed.error.issues[0] as z.core.$ZodIssue))
  if (duplicate) throw new Error(`\`${duplicate.name}\` appears twice, at ${duplicate.place}`)
  // The parser adds up names by character, which takes 30 times their length until they are read.
  for (const { name } of parsed.data.pets) isPlain(name)
  return parsed.data
}

function toSnapshot(
  text: string,
  { pets, nextId, idempotencyKeys, journal }: Part,
): ParsedDocument {
  checkIds(text, pets, nextId)
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
    return `${subject} has the unknown field \`${issue.keys[0]?.slice(0, 80)}\``
  }
  if (issue.input === undefined) return `${field} is required`
  return `${subject} ${issue.message}`
}
