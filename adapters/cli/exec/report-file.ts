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
  /** Sends the request to `serve`, for bash; null where it was dropped, or sent in a world or before a reset. */
  curl: z.nullable(text),
})
const findings = z.array(z.object({ ...findingSchema.shape, shown: z.array(shown) }))
const judged = { ...reportSchema.shape, findings, notes: findings }

const head = {
  /** It changes when a reader of the file has to. */
  version: z.literal(1),
  /** That `exec` has run. */
  command: texts,
}

const verdictSchema = z.object({
  ...head,
  ...judged,
  /** Of `exec`. */
  exitCode: count,
  /** Why nothing was checked. */
  untested: z.nullable(text),
  /** The command that runs it again. */
  repeat: text,
})

const failureSchema = z.object({
  schedule: text,
  reason: text,
  /** Null where it took too long. */
  exitCode: z.nullable(count),
  /** The end of what it has printed. */
  output: text,
  /** The command that runs it again. */
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

/** What `--report` writes, and with `--explore`. */
export type VerdictFile = Plain<z.infer<typeof verdictSchema>>
export type ExploredFile = Plain<z.infer<typeof exploredSchema>>
export type CommandFailure = Plain<z.infer<typeof failureSchema>>

/** The JSON Schema of both, which the package contains. */
export function reportJsonSchema(): object {
  // Readers accept what a later version adds.
  return z.toJSONSchema(z.union([verdictSchema, exploredSchema]), {
    io: 'input',
    unrepresentable: 'any',
  })
}

/** A report with the requests as commands, as far as the journal has them. */
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

/** Where `serve` listens: the store of a run is gone. */
const SERVED_AT = 'http://127.0.0.1:4280'
