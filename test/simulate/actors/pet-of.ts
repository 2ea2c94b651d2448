import type { ListPetsQuery, NewPet } from '../../../src/index.js'
import type { CallPlan, PetPlan } from '../scenario.js'

export function petOf({ name, categoryId, status }: PetPlan): NewPet {
  const big = BigInt(categoryId)
  const isSafe = big >= Number.MIN_SAFE_INTEGER && big <= Number.MAX_SAFE_INTEGER
  const pet = { name, categoryId: isSafe ? Number(big) : big }
  return status === null ? pet : { ...pet, status: status }
}

/** The animal as a client sends it. */
export function bodyOf({ name, categoryId, status }: PetPlan): string {
  const end = status === null ? '' : `,"status":"${status}"`
  return `{"name":${JSON.stringify(name)},"categoryId":${categoryId}${end}}`
}

export function queryOf(call: Extract<CallPlan, { do: 'list' }>, pagination: boolean) {
  const { limit, status, after } = call
  const query: { -readonly [name in keyof ListPetsQuery]: ListPetsQuery[name] } = { limit }
  if (status !== null) query.status = status
  if (pagination && after > 0) query.after = after
  return query
}

export function targetOf(call: CallPlan): string {
  if (call.do === 'get') return `/pets/${call.id}`
  if (call.do !== 'list') return '/pets'
  const { limit, status, after } = call
  const filter = status === null ? '' : `&status=${status}`
  return `/pets?limit=${limit}${filter}${after > 0 ? `&after=${after}` : ''}`
}
