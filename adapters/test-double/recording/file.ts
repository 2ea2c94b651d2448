import { brand } from '../../../src/lib/brand.js'
import { isObject, isString } from '../../../src/lib/check-options.js'
import { parseJson } from '../../../src/lib/json.js'
import * as z from '../../../src/lib/zod.js'
import { describeIssues, type NewPet, petSchema } from '../../../src/pets/schema.js'
import type { Operation } from '../../../src/pets/specification.js'
import type { FaultKind } from '../../verdict/log/fault-kinds.js'
import { instant, SENDER } from '../../verdict/log/read-request.js'
import type { Fault } from '../faults/fault.js'
import type { TakenFaults } from '../faults/faults.js'
import type { NamedKey } from './names.js'

export const FORMAT = 'animal-adoption-store recording'
export const VERSION = 1

const id = z.int().check(z.minimum(1))
const headers = z.record(z.string(), z.string())
// A replay validates the rest of the key record, as a double validates its keys.
const record = z.custom<NamedKey>(isNamedKey, 'must have a name, an id and a plan')
const json = z.custom<object>(isObject.accepts, 'must be an object')
const keys = z.readonly(z.array(record))

const refusal = z.object({ code: z.string(), message: z.string(), status: z.int(), headers })

const request = z.object({
  method: z.string(),
  path: z.string(),
  query: z.string(),
  headers,
  body: z.optional(z.string()),
  /** In place of `body`, for bytes that are not UTF-8. */
  base64: z.optional(z.base64()),
  client: z.optional(z.string()),
  /** The reason why an entry point could not read the request. */
  refusal: z.optional(refusal),
  ...SENDER,
})

const send = z.object({
  do: z.literal('send'),
  id,
  operation: z.nullable(z.custom<Operation>(isString.accepts)),
  keyId: z.nullable(z.string()),
  request,
  /** Faults that a schedule planned for this request, besides the armed ones. */
  planned: z.optional(z.custom<TakenFaults>(isObject.accepts, 'must be an object')),
})

const answer = z.object({
  do: z.literal('answer'),
  id,
  /** 0 for a request that is never answered. */
  status: z.int().check(z.minimum(0), z.maximum(599)),
  headers,
  body: z.string(),
  fault: z.optional(z.custom<FaultKind>(isString.accepts)),
})

const fault = z.custom<Fault>(isObject.accepts, 'must be an object')

const stepAct = z.discriminatedUnion('do', [
  send,
  z.object({ do: z.literal('run'), id }),
  answer,
  z.object({
    do: z.literal('clock'),
    frozen: z.boolean(),
    scale: z.optional(z.number()),
    auto: z.optional(z.boolean()),
  }),
  z.object({ do: z.enum(['reset', 'clear-requests', 'end-world']) }),
  z.object({ do: z.literal('clear-faults'), fault: z.exactOptional(fault) }),
  // Direct calls are validated by the store.
  z.object({ do: z.literal('create'), pet: z.custom<NewPet>() }),
  z.object({ do: z.literal('arm'), fault }),
  z.object({ do: z.literal('key'), record }),
  z.object({ do: z.literal('restore'), snapshot: json }),
  z.object({
    do: z.literal('world'),
    snapshot: z.object({ pets: z.readonly(z.array(petSchema)), nextId: id }),
    keys,
    frozen: z.boolean(),
  }),
])

const stepBase = z.object({
  /** 1, 2, 3 … */
  step: id,
  at: instant,
  world: z.optional(z.string()),
  /** Hash of the previous digest, this step and the state after it. */
  digest: z.string().check(z.regex(/^[0-9a-z]{12}$/, 'must be 12 letters and digits')),
})

const recordingFile = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  begin: z.object({
    /** The options of `createTestDouble` that plain JSON can hold, without `apiKeys`. */
    options: z.custom<Readonly<Record<string, unknown>>>(isObject.accepts, 'must be an object'),
    keys,
    at: instant,
    frozen: z.boolean(),
    state: z.nullable(json),
  }),
  steps: z.readonly(z.array(z.intersection(stepBase, stepAct))),
})

/** The JSON of a recording's file. Integers have all their digits. */
export type RecordingFile = z.infer<typeof recordingFile>
/** A change of the double, in the order in which it took effect. */
export type Step = z.infer<typeof stepBase> & StepAct
export type StepAct = z.infer<typeof stepAct>
export type SendStep = z.infer<typeof send>
export type AnswerStep = z.infer<typeof answer>
export type SentRequest = z.infer<typeof request>
export type Refusal = z.infer<typeof refusal>

/** The file is not a recording, or this version cannot read it. The message is one line. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError'
}
brand({ RecordingError })

export function readRecording(text: string, name: string): RecordingFile {
  const value = jsonOf(text, name)
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
  const parsed = recordingFile.safeParse(value, { error: z.en().localeError })
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

function jsonOf(text: string, name: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new RecordingError(`${name} is damaged: it is not complete JSON`)
  }
}

function isNamedKey(value: unknown): boolean {
  const { name, id, plan } = Object(value) as Partial<NamedKey>
  return [name, id, plan].every(isString.accepts)
}
