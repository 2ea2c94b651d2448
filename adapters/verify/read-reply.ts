import { type Int64, isInt64 } from '../../src/lib/int64.js'
import { parseJson } from '../../src/lib/json.js'
import { PET_STATUSES, type PetStatus } from '../../src/pets/specification.js'
import { readLimits } from '../client/rate-limit-headers.js'
import { CheckFailure, CheckSkipped } from './check-failure.js'
import type { Reply } from './check-types.js'
import * as expect from './expect.js'

export interface Animal {
  readonly id: Int64
  readonly name: string
  readonly categoryId: Int64
  readonly status?: PetStatus
}

export function jsonOf(reply: Reply): unknown {
  try {
    return parseJson(reply.body)
  } catch {
    throw new CheckFailure({ sent: reply.sent, came: reply, expected: 'a body that is JSON' })
  }
}

/** Undefined if a body is not JSON, which another check reports. */
export function jsonIn(reply: Reply): unknown {
  try {
    return jsonOf(reply)
  } catch {
    return undefined
  }
}

export function objectOf(reply: Reply): Readonly<Record<string, unknown>> {
  const value = jsonOf(reply)
  expect.that(reply, isObject(value), 'a JSON object')
  return value
}

export function memberOf(reply: Reply, name: string): unknown {
  return objectOf(reply)[name]
}

export function arrayOf(reply: Reply): readonly unknown[] {
  expect.status(reply, 200)
  const value = jsonOf(reply)
  expect.that(reply, Array.isArray(value), 'a JSON array')
  return value
}

/** The animals of a list whose form another check judges. */
export function animalsOf(reply: Reply): readonly Animal[] {
  return arrayOf(reply).filter(isObject) as unknown as readonly Animal[]
}

/** Undefined if the list cannot be read. */
export function listIn(reply: Reply): readonly Animal[] | undefined {
  const isList = reply.status === 200 && Array.isArray(jsonIn(reply))
  return isList ? animalsOf(reply) : undefined
}

/**
 * Describes the mistake in an animal (spec §2); undefined if there is none. Independent of the
 * store's schema, which could share the mistake.
 */
export function animalIssue(value: unknown): string | undefined {
  if (!isObject(value)) return 'an Animal as a JSON object'
  const { id, name, categoryId, status } = value
  if (!isInt64(id)) return 'an `id` that is an int64 integer'
  if (typeof name !== 'string') return 'a `name` that is a string'
  if (!isInt64(categoryId)) return 'a `categoryId` that is an int64 integer'
  if (status === undefined || isStatus(status)) return undefined
  return `a \`status\` among ${PET_STATUSES.join(', ')}, or none`
}

export function isStatus(value: unknown): value is PetStatus {
  return PET_STATUSES.includes(value as PetStatus)
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const RATE_LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
] as const

/** @throws CheckSkipped if another check reports their absence or form */
export function numbersOf({ headers }: Reply) {
  const { rateLimit } = readLimits(headers)
  if (rateLimit) return rateLimit
  throw new CheckSkipped('the rate limit headers are missing or not numbers')
}
