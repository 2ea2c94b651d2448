import type { Report, RuleId } from '../../../adapters/test-double/index.js'
import type { Client } from '../../test-double/clients/api.js'
import { BAD_CLIENTS } from '../../test-double/clients/rule-breaking.js'
import { GOOD_CLIENTS, GOOD_CLIENTS_OF_GET_PET } from '../../test-double/clients/well-behaved.js'

/** A client of the verdict's corpus, and the finding that it gets from the double. */
export interface Style {
  readonly behaviour: string
  readonly client: Client
  readonly finds: readonly RuleId[]
}

export const STYLES: readonly Style[] = [
  ...BAD_CLIENTS.map(([rule, behaviour, client]) => ({ behaviour, client, finds: [rule] })),
  ...stylesOf(GOOD_CLIENTS, []),
  ...stylesOf(GOOD_CLIENTS_OF_GET_PET, ['deprecated.called']),
]

function stylesOf(clients: Record<string, Client>, finds: readonly RuleId[]): Style[] {
  return Object.entries(clients).map(([behaviour, client]) => ({ behaviour, client, finds }))
}

/**
 * The common part of two verdicts on the same requests: everything but the names of keys, and what a
 * lost response said.
 */
export function said({ findings, notes, requestCount: requests }: Report) {
  const inCommon = (found: Report['findings']) =>
    found.map(({ keyId, shown, ...finding }) => ({
      ...finding,
      isKnown: keyId !== null,
      shown: shown.map(({ status: _, ...request }) => request),
    }))
  return { findings: inCommon(findings), notes: inCommon(notes), requests }
}

export function rules(findings: Report['findings']): readonly RuleId[] {
  return findings.map(({ rule }) => rule)
}
