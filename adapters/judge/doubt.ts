import { ruleOf } from '../verdict/rules/index.js'
import type { Doubt } from '../verdict/rules/rule.js'

/** What a service does not tell its clients makes a violation less certain, or invisible. */
export function doubtFrom({
  isAny,
  clients,
}: {
  readonly isAny: boolean
  readonly clients: number | undefined
}): Doubt {
  return violation => {
    const { isGeneral, mayBeOthers } = ruleOf(violation.rule)
    if (isAny) return isGeneral ? violation : undefined
    return clients !== 1 && mayBeOthers?.(violation) ? { ...violation, isLikely: true } : violation
  }
}
