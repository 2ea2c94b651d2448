import { parseJson } from '../../../src/lib/json.js'
import * as z from '../../../src/lib/zod.js'
import { describeIssues, petSchema } from '../../../src/pets/schema.js'
import { FORMAT, type RecordingFile, VERSION } from './format.js'

/** A file that is no recording, or that this version cannot read. The message is one line. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError'
}

/**
 * Reads a recording, checked.
 *
 * @param name what the message calls it
 * @throws RecordingError
 */
export async function readRecording(text: string, name: string): Promise<RecordingFile> {
  const value = await jsonOf(text, name)
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown }
  if (format !== FORMAT) {
    throw new RecordingError(`${name} is not a recording; expected a file of exec --record`)
  }
  if (version !== VERSION) {
    const found = version === undefined ? 'none' : String(version).slice(0, 20)
    throw new RecordingError(
      `${name} has version ${found} of the format, and this program reads version ${VERSION}; use the animal-adoption-store that recorded it`,
    )
  }
  const parsed = file.safeParse(value, { error: z.en().localeError })
  if (!parsed.success) {
    const [issue] = describeIssues(parsed.error, value, 'it').split('; ')
    throw new RecordingError(`${name} is damaged: ${issue}`)
  }
  const { steps } = parsed.data
  const misplaced = steps.findIndex(({ step }, index) => step !== index + 1)
  if (misplaced < 0) return parsed.data
  throw new RecordingError(
    `${name} is damaged: step ${misplaced + 1} is missing, or not in its place`,
  )
}

async function jsonOf(text: string, name: string): Promise<unknown> {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new RecordingError(`${name} is damaged: it is not complete JSON`)
  }
}

const id = z.int().check(z.minimum(1))
const at = z.number().check(z.minimum(-8.64e15), z.maximum(8.64e15))
const headers = z.record(z.string(), z.string())
const key = z.looseObject({ name: z.string(), id: z.string(), plan: z.string() })
const pets = z.object({ pets: z.array(petSchema), nextId: id })

const refusal = z.object({
  code: z.string(),
  message: z.string(),
  status: z.int(),
  headers,
})

const request = z.object({
  method: z.string(),
  path: z.string(),
  query: z.string(),
  headers,
  body: z.optional(z.string()),
  base64: z.optional(z.base64()),
  client: z.optional(z.string()),
  mount: z.optional(z.string()),
  refusal: z.optional(refusal),
  connection: z.nullable(z.int()),
  sequential: z.boolean(),
  overlap: z.enum(['none', 'key', 'connection']),
})

const act = z.discriminatedUnion('do', [
  z.object({
    do: z.literal('send'),
    id,
    operation: z.nullable(z.string()),
    key: z.nullable(z.string()),
    request,
    planned: z.optional(z.looseObject({})),
  }),
  z.object({ do: z.literal('run'), id }),
  z.object({
    do: z.literal('answer'),
    id,
    status: z.int().check(z.minimum(0), z.maximum(599)),
    headers,
    body: z.string(),
    fault: z.optional(z.string()),
    ran: z.optional(z.literal(true)),
  }),
  z.object({
    do: z.literal('clock'),
    frozen: z.boolean(),
    scale: z.optional(z.number()),
    auto: z.optional(z.boolean()),
  }),
  z.object({ do: z.enum(['reset', 'clear-faults', 'clear-requests', 'end-world']) }),
  // What a program has passed on, for the store to check.
  z.object({ do: z.literal('create'), pet: z.unknown() }),
  z.object({ do: z.literal('arm'), fault: z.looseObject({ kind: z.string() }) }),
  z.object({ do: z.literal('key'), key }),
  z.object({ do: z.literal('restore'), snapshot: z.looseObject({}) }),
  z.object({ do: z.literal('world'), pets, keys: z.array(key), frozen: z.boolean() }),
])

const step = z.intersection(
  z.object({
    step: id,
    at,
    world: z.optional(z.string()),
    late: z.optional(z.literal(true)),
    digest: z.string().check(z.regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits')),
  }),
  act,
)

const file = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  begin: z.object({
    options: z.looseObject({}),
    keys: z.array(key),
    at,
    frozen: z.boolean(),
    state: z.nullable(z.looseObject({})),
  }),
  steps: z.array(step),
}) as unknown as z.ZodMiniType<RecordingFile>
