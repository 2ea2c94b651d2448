import * as z from 'zod'
import type { ErrorCode } from '../../src/errors.js'
import { petSnapshotSchema } from '../../src/model.js'
import type { Operation } from '../../src/specification.js'
import type { Exchange } from './exchange.js'
import type { ArmedFault, FaultKind } from './faults.js'
import type { Snapshot } from './snapshot.js'

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

const exchange: z.ZodType<Exchange> = z.object({
  n: z.int().min(1),
  at: instant,
  answeredAt: instant.nullable(),
  key: z.string().nullable(),
  operation: z.custom<Operation>(isText).nullable(),
  method: z.string(),
  path: z.string(),
  query: z.string(),
  status: z.int().nullable(),
  code: z.custom<ErrorCode>(isText).nullable(),
  requestHeaders: headers,
  headers,
  bodyDigest: z.string().nullable(),
  answerDigest: z.string().nullable(),
  requestDigest: z.string(),
  unknown: z.array(z.string()),
  fault: z.custom<FaultKind>(isText).nullable(),
  connection: z.int().nullable(),
  sequential: z.boolean(),
})

/** The faults are checked where they are armed. */
export const snapshotSchema: z.ZodType<Snapshot> = petSnapshotSchema.extend({
  name: z.string().optional(),
  clock: z.object({ now: instant, frozen: z.boolean() }),
  usage: z.array(z.tuple([z.string(), usage])),
  faults: z.array(z.custom<ArmedFault>(value => typeof value === 'object')),
  journal: z.object({ exchanges: z.array(exchange), dropped: count }),
})

function isText(value: unknown): boolean {
  return typeof value === 'string'
}
