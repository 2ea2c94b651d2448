import type { Call, Check, Names, Need, Reply, Subject } from '../check.js'

/** Checks of a group, by the rest of their ids. */
export type Table = Readonly<Record<string, Row | Routine>>

interface Entry {
  /** What has to hold, as a sentence. */
  readonly title: string
  /** Where the requirement comes from, if not from the source of the group. */
  readonly must?: string
  readonly should?: string
  /** @default of a row, those of its calls; else those of the group */
  readonly needs?: readonly Need[]
}

/** A check as data: what is sent in turn, and what every reply has to meet. */
export interface Row extends Entry {
  readonly calls: readonly Call[] | ((names: Names) => readonly Call[])
  /** @throws CheckFailure */
  readonly expect: (reply: Reply) => void
}

/** A check as code. */
export interface Routine extends Entry {
  readonly requests: number
  readonly always?: true
  run(subject: Subject): Promise<void>
}

interface Group {
  readonly name: string
  /** The source of its requirements, which are MUST. */
  readonly source: string
  readonly needs?: readonly Need[]
}

/** To count calls. */
const EXAMPLE: Names = { name: label => label, categoryId: 1 }

export function checksOf({ name: group, source, needs = [] }: Group, table: Table) {
  return Object.entries(table).map(([name, entry]): Check => {
    const { title, should, must = source } = entry
    const about = {
      id: `${group}.${name}`,
      title,
      requirement: { level: should ? 'SHOULD' : 'MUST', source: should ?? must },
    } as const
    if ('run' in entry) {
      const { requests, run, always = false } = entry
      return { ...about, requests, needs: entry.needs ?? needs, always, run }
    }
    const { calls, expect } = entry
    const example = callsOf(calls, EXAMPLE)
    return {
      ...about,
      requests: example.length,
      needs: entry.needs ?? [...new Set([...needs, ...example.flatMap(needsOf)])],
      always: false,
      async run(subject) {
        for (const call of callsOf(calls, subject)) expect(await subject.once(call))
      },
    }
  })
}

/** One entry for each of some things, with its name at the end of the id. */
export function each<T>(
  prefix: string,
  things: Readonly<Record<string, T>>,
  entry: (name: string, thing: T) => Row | Routine,
): Table {
  return Object.fromEntries(
    Object.entries(things).map(([name, thing]) => [`${prefix}${name}`, entry(name, thing)]),
  )
}

function callsOf(calls: Row['calls'], names: Names): readonly Call[] {
  return typeof calls === 'function' ? calls(names) : calls
}

function needsOf({ method, path }: Call): readonly Need[] {
  if (method === 'POST') return ['create']
  return path.startsWith('/pets/') ? ['getPet'] : []
}
