import { type ErrorCode, invalidRequest } from '../../src/errors.js'
import { isObject } from '../../src/lib/options.js'
import { isClockTime } from '../../src/lib/time.js'
import * as z from '../../src/lib/zod.js'
import { describeIssues, petSchema } from '../../src/pets/schema.js'
import type { Operation } from '../../src/pets/specification.js'
import { usedKeySchema } from '../../src/pets/used-key.js'
import type { Exchange } from '../exchanges/exchange.js'
import type { FaultKind } from '../exchanges/fault-kinds.js'
import { isScale } from './clock/clock.js'
import type { ArmedFault } from './faults/fault.js'

/**
 * Everything a double holds but its keys, as plain data; `toJson` writes it, `parseJson` reads it.
 */
export interface Snapshot extends Readonly<z.infer<typeof snapshotSchema>> {}

/** Snapshots that nobody can have changed. */
const OWN = new WeakSet<object>()

/** Freezes a snapshot of this process, which need not be checked when it comes back. */
export function ownSnapshot(snapshot: Snapshot): Snapshot {
  OWN.add(freeze(snapshot))
  return snapshot
}

/** With everything in it. What is frozen already is so in depth: it is shared with other snapshots. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

/**
 * Checks a snapshot from an untrusted source.
 *
 * @throws ApiError `invalid_request` naming the field
 */
export function checkSnapshot(value: Snapshot): Snapshot {
  if (OWN.has(value)) return value
  const parsed = snapshotSchema.safeParse(value, { error: z.en().localeError })
  if (parsed.success) return parsed.data
  throw invalidRequest(`Not a snapshot: ${describeIssues(parsed.error, value, 'it')}`)
}

const instant = z.number().check(z.minimum(-8.64e15), z.maximum(8.64e15))
const count = z.int().check(z.minimum(0))
const headers = z.record(z.string(), z.string())

const usage = z.object({
  lastSeen: instant,
  minuteCount: count,
  rejections: count,
  dayCount: count,
  bannedUntil: instant,
  banLevel: count,
})

export const exchangeSchema: z.ZodMiniType<Exchange> = z.object({
  n: z.int().check(z.minimum(1)),
  at: instant,
  answeredAt: z.nullable(instant),
  key: z.nullable(z.string()),
  operation: z.nullable(z.custom<Operation>(isText)),
  method: z.string(),
  path: z.string(),
  query: z.string(),
  url: z.string(),
  status: z.nullable(z.int()),
  code: z.nullable(z.custom<ErrorCode>(isText)),
  requestHeaders: headers,
  headers,
  requestBody: z.nullable(z.string()),
  body: z.nullable(z.string()),
  requestDigest: z.string(),
  unknown: z.array(z.string()),
  fault: z.nullable(z.custom<FaultKind>(isText)),
  storedAt: z.optional(z.string()),
  connection: z.nullable(z.int()),
  sequential: z.boolean(),
  overlap: z.enum(['none', 'key', 'connection']),
})

// The faults are checked where they are armed.
const snapshotSchema = z.object({
  pets: z.readonly(z.array(petSchema)),
  nextId: z.int().check(z.minimum(1)),
  idempotencyKeys: z.optional(z.readonly(z.array(usedKeySchema))),
  name: z.optional(z.string()),
  clock: z.object({
    now: z.number().check(z.refine(isClockTime.accepts, `must be ${isClockTime.expected}`)),
    frozen: z.boolean(),
    scale: z.optional(z.number().check(z.refine(isScale.accepts, `must be ${isScale.expected}`))),
    auto: z.optional(z.boolean()),
  }),
  /** Usage by partition, bans included. */
  usage: z.readonly(z.array(z.readonly(z.tuple([z.string(), usage])))),
  faults: z.readonly(z.array(z.custom<ArmedFault>(isObject.accepts, 'must be an object'))),
  journal: z.object({
    exchanges: z.readonly(z.array(exchangeSchema)),
    received: count,
    dropped: count,
    connections: count,
  }),
})

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
