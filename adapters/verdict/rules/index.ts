import { BACKOFF, NO_BACKOFF, watchBackoff } from './backoff.js'
import { CREATES, REFUSED_CREATES, watchCreates } from './creates.js'
import { REFUSALS, watchRefusals } from './refusals.js'
import { REQUEST_RULES, watchKnown, watchStrangers } from './requests.js'
import type { KeyUse, Rule, Watch } from './rule.js'
import { UNUSED_FAULTS } from './unused-faults.js'
import { WAIT_RULES, watchWaits } from './waits.js'

const DECLARED = [
  ...WAIT_RULES,
  BACKOFF,
  NO_BACKOFF,
  ...REQUEST_RULES,
  REFUSALS,
  CREATES,
  REFUSED_CREATES,
  UNUSED_FAULTS,
] as const satisfies readonly Rule[]

export type { Rule }
export type RuleId = (typeof DECLARED)[number]['id']
export const RULES: readonly (Rule & { readonly id: RuleId })[] = DECLARED

export function createWatches(hasKey: boolean, use: KeyUse): readonly Watch[] {
  const known = [watchWaits, watchBackoff, watchRefusals, watchCreates, watchKnown]
  return (hasKey ? known : [watchStrangers]).map(create => create(use))
}
