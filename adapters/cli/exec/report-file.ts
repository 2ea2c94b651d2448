import * as z from '../../../src/lib/zod.js'
import { exchangeSchema } from '../../verdict/log/exchange.js'
import type { JournalEntry } from '../../verdict/log/recorder.js'
import type { Report } from '../../verdict/report.js'
import {
  findingSchema,
  type Plain,
  reportSchema,
  shownRequestSchema,
} from '../../verdict/schema.js'

const text = z.string()
const texts = z.array(text)
const count = z.int().check(z.minimum(0))

const shown = z.object({
  ...shownRequestSchema.shape,
  /** Bash command for `serve`; null if dropped, or sent in a world or before a reset. */
  curl: z.nullable(text),
})
const findings = z.array(z.object({ ...findingSchema.shape, shown: z.array(shown) }))
const judged = { ...reportSchema.shape, findings, notes: findings }

const head = {
  /** Changes when readers have to. */
  version: z.literal(1),
  command: texts,
}

const verdictSchema = z.object({
  ...head,
  ...judged,
  exitCode: count,
  /** Why nothing was checked. */
  untested: z.nullable(text),
  repeat: text,
})

const failureSchema = z.object({
  schedule: text,
  reason: text,
  /** Null after the time limit. */
  exitCode: z.nullable(count),
  output: text,
  repeat: text,
  report: z.object(judged),
  requests: z.array(exchangeSchema),
})

const exploredSchema = z.object({
  ...head,
  ok: z.boolean(),
  /** Why a result without failures would prove nothing. */
  problem: z.nullable(text),
  runs: count,
  pruned: count,
  exhausted: z.boolean(),
  failures: z.array(failureSchema),
  notes: z.array(z.object({ schedule: text, note: text })),
  unreached: texts,
})

const unfinishedSchema = z.object({ ...head, ok: z.literal(false), problem: text })

/** File of `--report`: without and with `--explore`, and of a run that ended without a result. */
export type VerdictFile = Plain<z.infer<typeof verdictSchema>>
export type ExploredFile = Plain<z.infer<typeof exploredSchema>>
export type UnfinishedFile = Plain<z.infer<typeof unfinishedSchema>>
export type CommandFailure = Plain<z.infer<typeof failureSchema>>

/** JSON Schema of all three, included in the package. */
export function reportJsonSchema(): object {
  // Readers accept additions of later versions.
  return z.toJSONSchema(z.union([verdictSchema, exploredSchema, unfinishedSchema]), {
    io: 'input',
    unrepresentable: 'any',
  })
}

/** Adds requests as commands, as far as the journal has them. */
export function withCommands(
  report: Report,
  journal: readonly JournalEntry[],
): CommandFailure['report'] {
  const of = (found: Report['findings']) =>
    found.map(finding => ({
      ...finding,
      shown: finding.shown.map(one => ({ ...one, curl: curlOf(one, journal) })),
    }))
  return { ...report, findings: of(report.findings), notes: of(report.notes) }
}

function curlOf(
  { n, iso, method }: Report['findings'][number]['shown'][number],
  journal: readonly JournalEntry[],
): string | null {
  const sent = journal.find(one => one.n === n && new Date(one.at).toISOString() === iso)
  return sent?.method === method ? sent.toCurl(SERVED_AT) : null
}

/** Default address of `serve`: the store of a run is gone. */
const SERVED_AT = 'http://127.0.0.1:4280'
