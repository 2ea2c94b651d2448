import assert from 'node:assert/strict'
import type { ErrorCode, Store, StoreOptions } from '../../../src/index.js'
import { T0 } from '../../limits/rate-limit-vectors.js'
import type { Reply, Send } from '../../support/doors.js'

/**
 * Documented behaviours, as `id - behaviour`: a permanent id from the decisions in
 * `src/protocol/README.md`, or one of its own.
 */
export type Checks = Readonly<Record<string, Run | Check>>

type Run = (subject: Subject) => Promise<void>

/** One that needs options beside those of the fixture. */
interface Check {
  readonly options: () => Partial<StoreOptions>
  readonly run: Run
}

/** Checks that need the same options. */
export function withOptions(options: Check['options'], checks: Record<string, Run>): Checks {
  return Object.fromEntries(Object.entries(checks).map(([name, run]) => [name, { options, run }]))
}

/** A store at T0 behind an adapter, with a key of each kind. */
export interface Subject {
  /** Sends the key `demo` unless the call names another. */
  readonly send: Send
  readonly store: Store
  setClock(now: number): void
}

/** Asserts the status and the whole Error body: `code`, a message, `status`, and nothing else. */
export function assertError(reply: Reply, status: number, code: ErrorCode, message?: string): void {
  const body = JSON.parse(reply.body) as { message: string }
  assert.deepEqual(body, { code, message: message ?? body.message, status })
  assert.equal(typeof body.message, 'string')
  assert.equal(reply.status, status)
  assert.equal(reply.headers['content-type'], 'application/json')
}

/** The headers of every response below the base path to the key `demo` at T0. */
export function demoHeaders(remaining: number, bytes: number): Record<string, string> {
  return {
    'content-length': String(bytes),
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    date: 'Tue, 01 Jan 2030 00:00:00 GMT',
    'x-ratelimit-limit': '1000',
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(T0 / 1000 + 60),
  }
}

/** A complete animal. */
export const REX = { name: 'Rex', categoryId: 1 }

/** `POST /v1/pets` with this text, or with this value as JSON. */
export function post(body: unknown, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return { method: 'POST', path: '/v1/pets', headers, body: text }
}

/** An animal in a response. */
export interface Answered {
  readonly id: number
  readonly name: string
  readonly status?: string
}

/** The animal in a response. */
export function petOf({ body }: Reply): Answered {
  return JSON.parse(body) as Answered
}

/** The animals in a response to `listPets`. */
export function listOf(reply: Reply): Answered[] {
  assert.equal(reply.status, 200, reply.body)
  return JSON.parse(reply.body) as Answered[]
}
