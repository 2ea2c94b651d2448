import { invalidRequest } from '../../src/api-error.js'
import { isObject } from '../../src/lib/check-options.js'
import { isClockTime } from '../../src/lib/time.js'
import * as z from '../../src/lib/zod.js'
import { describeIssues, petSchema } from '../../src/pets/schema.js'
import { usedKeySchema } from '../../src/pets/used-key.js'
import { exchangeSchema } from '../verdict/log/exchange.js'
import { instant } from '../verdict/log/read-request.js'
import { isScale } from './clock/clock.js'
import type { ArmedFault } from './faults/fault.js'

/** All but the keys of a double, as plain data for `toJson` and `parseJson`. */
export interface Snapshot extends Readonly<z.infer<typeof snapshotSchema>> {}

const OWN = new WeakSet<object>()

/** Freezes a snapshot of this process, which need not be checked when it comes back. */
export function ownSnapshot(snapshot: Snapshot): Snapshot {
  OWN.add(freeze(snapshot))
  return snapshot
}

/** Freezes deeply. Frozen parts are shared with other snapshots, and so frozen throughout. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

export function checkSnapshot(value: Snapshot): Snapshot {
  if (OWN.has(value)) return value
  const parsed = snapshotSchema.safeParse(value, { error: z.en().localeError })
  if (parsed.success) return parsed.data
  throw invalidRequest(`Not a snapshot: ${describeIssues(parsed.error, value, 'it')}`)
}

const count = z.int().check(z.minimum(0))

const usage = z.object({
  lastSeenAt: instant,
  minuteCount: count,
  rejections: count,
  dayCount: count,
  bannedUntil: instant,
  banLevel: count,
})

// Faults are checked where they are armed.
const snapshotSchema = z.object({
  pets: z.readonly(z.array(petSchema)),
  nextId: z.int().check(z.minimum(1)),
  idempotencyKeys: z.optional(z.readonly(z.array(usedKeySchema))),
  name: z.optional(z.string()),
  time: z.object({
    now: z.number().check(z.refine(isClockTime.accepts, `must be ${isClockTime.expected}`)),
    frozen: z.boolean(),
    scale: z.optional(z.number().check(z.refine(isScale.accepts, `must be ${isScale.expected}`))),
    auto: z.optional(z.boolean()),
  }),
  usage: z.readonly(z.array(z.readonly(z.tuple([z.string(), usage])))),
  faults: z.readonly(z.array(z.custom<ArmedFault>(isObject.accepts, 'must be an object'))),
  journal: z.object({
    exchanges: z.readonly(z.array(exchangeSchema)),
    received: count,
    dropped: count,
    connections: count,
  }),
})
