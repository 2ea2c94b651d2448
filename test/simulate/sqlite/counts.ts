import type { Policy } from '../../../src/index.js'
import type { LimitModel, Told } from '../model/limits.js'
import { ensure } from '../violation.js'

/** A request that is counted in the file. */
export interface Counted {
  readonly partition: string
  readonly policy: Policy
  readonly now: number
}

/** By partition: when it was last seen, counts of the minute, rejections, the day, end and level of the ban. */
export type UsageRows = ReadonlyMap<string, readonly number[]>

/** So many decisions are kept to go back to. */
const KEPT = 200

/** The counts that the file must have, decision by decision. */
export function createCounts(model: LimitModel) {
  let goBack = model.save()
  let decisions: Counted[] = []
  let durable = 0

  return {
    limits: {
      ask(partition: string, policy: Policy, now: number): Told {
        decisions.push({ partition, policy, now })
        return model.ask(partition, policy, now)
      },
    },
    /** What has been decided so far survives a power cut. */
    synced(): void {
      durable = decisions.length
      if (durable > KEPT) begin()
    },
    /**
     * After a crash: looks for the decision up to which the file holds them.
     *
     * @param open those that may have been stored without an answer
     * @param isCut whether those that were not synced may be missing
     * @returns whether all are there that were answered
     */
    recover(found: UsageRows, open: readonly Counted[], isCut: boolean): boolean {
      const all = [...decisions, ...open]
      const answered = decisions.length
      goBack()
      for (let stored = 0; ; stored++) {
        const isPossible = stored >= (isCut ? durable : answered)
        if (isPossible && isEqual(model.usages(), found)) {
          decisions = all.slice(0, stored)
          // What survived a power cut is on the disk.
          if (isCut) begin()
          return stored >= answered
        }
        const next = all[stored]
        ensure(next !== undefined, 'limits.kept', () => shown(model.usages(), found))
        if (next) model.ask(next.partition, next.policy, next.now)
      }
    },
    /** Another file holds none of it. */
    clear(): void {
      model.forget()
      begin()
    },
  }

  function begin(): void {
    goBack = model.save()
    decisions = []
    durable = 0
  }
}

function isEqual(one: UsageRows, other: UsageRows): boolean {
  const isSame = ([name, counts]: [string, readonly number[]]) =>
    String(other.get(name)) === String(counts)
  return one.size === other.size && [...one].every(isSame)
}

function shown(expected: UsageRows, found: UsageRows): string {
  const text = (rows: UsageRows) => JSON.stringify(Object.fromEntries(rows))
  return `the file counts ${text(found)} instead of ${text(expected)}`
}
