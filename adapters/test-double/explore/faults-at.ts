import type { Operation } from '../../../src/pets/specification.js'
import { changes } from '../../verdict/log/fault-kinds.js'
import { type Fault, isAfter } from '../faults/fault.js'
import { faultText } from '../faults/text.js'

/** A request that a later run can give a fault, with its response if it had no fault. */
export interface Shown {
  /** `createPet#2` */
  readonly point: string
  readonly operation: Operation | undefined
  readonly keyId: string | undefined
  /** Undefined if another fault replaced the response, or if it came too late. */
  readonly answer: { readonly status: number; readonly length: number } | undefined
}

/**
 * Selects the faults worth a run at a request: those with different effects, each with its
 * indistinguishable twins. `pruned` counts those equal to another or to none.
 */
export function faultsAt(request: Shown, faults: readonly Fault[]) {
  const possible = faults.filter(fault => isFor(fault, request))
  const effective = possible.filter(fault => !isNoFault(fault, request))
  const late = storesNothing(request) ? effective.filter(isAfter) : []
  const distinct = effective
    .map(fault => ({ fault, twins: late.filter(other => isSameButLate(fault, other)) }))
    .filter(({ fault }, _, all) => !all.some(({ twins }) => twins.includes(fault)))
  return { distinct, pruned: possible.length - distinct.length }
}

function isFor({ operation, keyId }: Fault, request: Shown): boolean {
  return (
    (operation === undefined || operation === request.operation) &&
    (keyId === undefined || keyId === request.keyId)
  )
}

/** Nothing is injected: 401 and 429 come before a status, and there is no body to cut. */
function isNoFault({ kind }: Fault, { answer }: Shown): boolean {
  return answer !== undefined && !changes(kind, answer)
}

/** Running such an operation or not makes no difference to the store. */
function storesNothing({ operation, answer }: Shown): boolean {
  return operation !== 'createPet' || (answer !== undefined && answer.status >= 400)
}

function isSameButLate(one: Fault, late: Fault): boolean {
  return !isAfter(one) && faultText({ ...one, when: 'after' } as Fault) === faultText(late)
}
