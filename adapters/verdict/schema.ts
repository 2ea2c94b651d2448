import * as z from '../../src/lib/zod.js'
import { RULES } from './rules/index.js'

const text = z.string()
const count = z.int().check(z.minimum(0))
const number = z.int().check(z.minimum(1))

export const shownRequestSchema = z.object({
  n: number,
  /** By the double's clock. */
  iso: text,
  method: text,
  /** Path and query, of which long ones are cut. */
  url: text,
  /** Null when it was never answered. */
  status: z.nullable(z.int()),
  retryAfter: z.nullable(text),
  /** The `n` of the rejected request that it came too early after; null for any other violation. */
  tooEarlyAfter: z.nullable(number),
  /** Of its `traceparent`, which a test may send. */
  traceId: z.nullable(text),
})

export const findingSchema = z.object({
  rule: z.enum(RULES.map(({ id }) => id)),
  /** The id of the key; null for requests without a valid one, and for a fault of every key. */
  keyId: z.nullable(text),
  seen: text,
  fix: text,
  /** The option of `exec` and `serve` that the fix needs, such as `--idempotency`. */
  flag: z.nullable(text),
  /** When it was first seen, by the double's clock. */
  at: z.number(),
  iso: text,
  /** Where it was first seen, such as 'world w1, after reset 2'; null for the journal. */
  where: z.nullable(text),
  /** The `n` of the exchanges there that show it: the first hundred. */
  requests: z.array(number),
  /** The first few of them, for when the journal no longer has them. */
  shown: z.array(shownRequestSchema),
  /** The first three sentences of proof, which name the requests. */
  evidence: z.array(text),
  /** True if the option `allow` lists this rule. */
  allowed: z.boolean(),
})

export const reportSchema = z.object({
  /** True if requests arrived and violated nothing but allowed rules. */
  ok: z.boolean(),
  requestCount: count,
  /** Requests that the journal has dropped; they are judged nevertheless. */
  dropped: count,
  findings: z.array(findingSchema),
  notes: z.array(findingSchema),
})

/** The type of a schema, deeply readonly. */
export type Plain<T> = T extends readonly (infer Item)[]
  ? readonly Plain<Item>[]
  : T extends object
    ? { readonly [Name in keyof T]: Plain<T[Name]> }
    : T
