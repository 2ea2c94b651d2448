import { CheckFailure, CheckSkipped } from '../check-failure.js'
import type { Call, Check, Names, Need, Reply, Subject } from '../check-types.js'

/** Checks of a group, by the rest of their ids. */
export type Table = Readonly<Record<string, Entry & (Calls | Routine)>>

interface Entry {
  readonly title: string
  readonly must?: string
  readonly should?: string
  /** @default the needs of the group, and those that calls imply */
  readonly needs?: readonly Need[]
}

/** @param first reply, passed with all others @throws CheckFailure */
type Judge = (reply: Reply, subject: Subject, first?: Reply) => void

interface Calls {
  readonly calls: readonly Call[] | ((names: Names) => readonly Call[])
  readonly judge: Judge
}

interface Routine {
  /** @default the group's */
  readonly maxRequests?: number
  run(subject: Subject): Promise<void>
}

export interface Group {
  readonly name: string
  /** Source of the requirements, which are MUST. */
  readonly source: string
  readonly needs?: readonly Need[]
  /** @default 1 */
  readonly maxRequests?: number
  readonly hint?: (id: string) => string
  /** True to send calls even if their replies are known. @default false */
  readonly isFresh?: boolean
}

const EXAMPLE: Names = {
  ...{ name: label => label, categoryId: 1, status: 'available' },
  ...{ origin: '', basePath: '/v1' },
}

export function checksOf(group: Group, table: Table): readonly Check[] {
  return Object.entries(table).map(([name, entry]) => {
    const { title, should, must = group.source } = entry
    const id = `${group.name}.${name}`
    const about = {
      id,
      title,
      hint: group.hint?.(id),
      requirement: { level: should ? 'SHOULD' : 'MUST', source: should ?? must },
      needs: entry.needs ?? group.needs ?? [],
    } as const
    if ('calls' in entry) {
      const { needs = needsOf(entry, group) } = entry
      return { ...about, ...runOf(entry, group), needs }
    }
    const { maxRequests = group.maxRequests ?? 1, run } = entry
    return { ...about, maxRequests, run }
  })
}

function runOf({ calls, judge }: Calls, { isFresh }: Group): Pick<Check, 'maxRequests' | 'run'> {
  return {
    maxRequests: callsOf(calls, EXAMPLE).length,
    async run(subject) {
      let first: Reply | undefined
      const failures: CheckFailure[] = []
      for (const call of callsOf(calls, subject)) {
        const reply = await (isFresh ? subject.send : subject.once)(call)
        try {
          judge(reply, subject, first)
        } catch (thrown) {
          if (thrown instanceof CheckFailure) failures.push(thrown)
          else if (!(thrown instanceof CheckSkipped) || failures.length === 0) throw thrown
        }
        first ??= reply
      }
      if (failures.length > 0) throw inOne(failures)
    },
  }
}

/** The first failure, if possible of a MUST, with the requests of the others. */
export function inOne(failures: readonly CheckFailure[]): CheckFailure {
  const first = failures.find(({ level }) => level !== 'SHOULD') ?? (failures[0] as CheckFailure)
  const more = new Set(failures.map(({ sent }) => sent))
  more.delete(first.sent)
  if (more.size === 0) return first
  const expected = `${first.expected}; ${more.size} more failed: ${[...more].join('; ')}`
  return new CheckFailure({ ...first, expected })
}

function callsOf(calls: Calls['calls'], names: Names): readonly Call[] {
  return typeof calls === 'function' ? calls(names) : calls
}

function needsOf({ calls }: Calls, { needs = [] }: Group): readonly Need[] {
  const all = callsOf(calls, EXAMPLE)
  const creates = all.some(({ method }) => method === 'POST')
  const gets = all.some(({ path }) => path.startsWith('/pets/'))
  return [...needs, ...(creates ? ['create' as const] : []), ...(gets ? ['getPet' as const] : [])]
}
