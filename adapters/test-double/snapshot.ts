import type { ZodType } from 'zod'
import { type ErrorCode, invalidRequest } from '../../src/errors.js'
import { toJson } from '../../src/json.js'
import { lazy } from '../../src/lazy.js'
import { isObject } from '../../src/options.js'
import type { PetSnapshot, RateLimitSnapshot } from '../../src/ports.js'
import type { Operation } from '../../src/specification.js'
import { type ClockState, isScale } from './clock.js'
import type { Exchange } from './exchange.js'
import type { ArmedFault, FaultKind } from './faults.js'
import type { JournalState } from './journal.js'
import { isClockTime } from './time.js'

/**
 * Everything a double holds but its keys, as plain data; `toJson` writes it, `parseJson` reads it.
 */
export interface Snapshot extends PetSnapshot {
  readonly name?: string | undefined
  readonly clock: ClockState & { readonly now: number }
  /** Usage by partition, bans included. */
  readonly usage: RateLimitSnapshot
  readonly faults: readonly ArmedFault[]
  readonly journal: JournalState
}

/**
 * Checks a snapshot from an untrusted source.
 *
 * @throws ApiError `invalid_request` naming the field
 */
export async function checkSnapshot(value: unknown): Promise<Snapshot> {
  const { snapshotSchema, describeIssues } = await schema()
  const parsed = snapshotSchema.safeParse(value)
  if (!parsed.success)
    throw invalidRequest(`Not a snapshot: ${describeIssues(parsed.error, value)}`)
  return parsed.data
}

const schema = lazy(async () => {
  const { z } = await import('zod')
  const { describeIssues, petSnapshotSchema } = await import('../../src/model.js')

  const instant = z.number().min(-8.64e15).max(8.64e15)
  const count = z.int().min(0)
  const headers = z.record(z.string(), z.string())

  const usage = z.object({
    lastSeen: instant,
    minuteCount: count,
    rejections: count,
    dayCount: count,
    bannedUntil: instant,
    banLevel: count,
  })

  const exchange: ZodType<Exchange> = z.object({
    n: z.int().min(1),
    at: instant,
    answeredAt: instant.nullable(),
    key: z.string().nullable(),
    operation: z.custom<Operation>(isText).nullable(),
    method: z.string(),
    path: z.string(),
    query: z.string(),
    url: z.string(),
    status: z.int().nullable(),
    code: z.custom<ErrorCode>(isText).nullable(),
    requestHeaders: headers,
    headers,
    requestBody: z.string().nullable(),
    body: z.string().nullable(),
    requestDigest: z.string(),
    unknown: z.array(z.string()),
    fault: z.custom<FaultKind>(isText).nullable(),
    connection: z.int().nullable(),
    sequential: z.boolean(),
  })

  // The faults are checked where they are armed.
  const snapshotSchema: ZodType<Snapshot> = petSnapshotSchema.extend({
    name: z.string().optional(),
    clock: z.object({
      now: z.number().refine(isClockTime.accepts, `must be ${isClockTime.expected}`),
      frozen: z.boolean(),
      scale: z.number().refine(isScale.accepts, `must be ${isScale.expected}`).optional(),
      auto: z.boolean().optional(),
    }),
    usage: z.array(z.tuple([z.string(), usage])),
    faults: z.array(z.custom<ArmedFault>(isObject.accepts, 'must be an object')),
    journal: z.object({
      exchanges: z.array(exchange),
      received: count,
      dropped: count,
      connections: count,
    }),
  })
  return { snapshotSchema, describeIssues }
})

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

/** SHA-256 in hex, independent of the order of fields. */
export async function digestOf(value: unknown): Promise<string> {
  const hash = await crypto.subtle.digest(
    'SHA-256',
    new TextEncoder().encode(toJson(sorted(value))),
  )
  return [...new Uint8Array(hash)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, field]) => [name, sorted(field)]))
}
