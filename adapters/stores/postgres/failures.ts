import { type ApiError, storageUnavailable } from '../../../src/api-error.js'
import { brand } from '../../../src/lib/brand.js'

/** Explains in one line why PostgreSQL cannot be used, without any password. */
export class PostgresError extends Error {
  override readonly name = 'PostgresError'
}
brand({ PostgresError })

export function noAnswer(timeoutMs: number): PostgresError {
  const error = new PostgresError(`PostgreSQL did not answer within ${timeoutMs} ms`)
  return Object.assign(error, { code: 'ETIMEDOUT' })
}

/** Transient SQLSTATE classes: connection, rollback, resources, object state, intervention. */
const PASSING = ['08', '40', '53', '55', '57']
/** Transient as well: after a fail-over the address soon leads to the new primary. */
const READ_ONLY = '25006'

export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown }).code === READ_ONLY
}

/** The server will always refuse the statement. */
export function isRefused(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  // Connection errors have no code, or one of Node's such as EPIPE.
  if (typeof code !== 'string' || !/^\d[0-9A-Z]{4}$/.test(code)) return false
  return code !== READ_ONLY && !PASSING.includes(code.slice(0, 2))
}

export function isKeyTaken(error: unknown): boolean {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown }
  return code === '23505' && constraint === 'pet_keys_used'
}

/** Only changes by hand lead to an id that exists already. */
export function failInsert(error: unknown): never {
  throw (error as { constraint?: unknown }).constraint === 'pets_pkey' ? inconsistent(error) : error
}

/** Reaches the client, whose developer learns what helps. */
export function inconsistent(cause?: unknown): ApiError {
  const fix = 'run: animal-adoption-store check postgres:'
  return storageUnavailable(cause, `The tables were changed by hand and do not match; ${fix}`)
}

export function explain(error: unknown, address: string): PostgresError {
  const { code = '', message } = error as { code?: string; message: string }
  if (error instanceof PostgresError && !code) return error
  const known = code === '' ? PHRASES.find(([phrase]) => message.includes(phrase)) : undefined
  const reason = REASONS[code] ?? known?.[1] ?? message.split('\n', 1)[0]
  return new PostgresError(`${address}: ${reason}`, { cause: error })
}

const NO_ANSWER = 'no answer in time; check the address and the firewall'
const CLOSED = 'the connection was closed; check that this is a PostgreSQL server'
const UNTRUSTED =
  "its certificate is not trusted; pass the CA as `ssl`, or by '?sslmode=verify-full&sslrootcert=<file>'"

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; start PostgreSQL, or correct the host and port',
  ENOTFOUND: 'the host is unknown; correct its name',
  EAI_AGAIN: 'the host is unknown; correct its name',
  ETIMEDOUT: NO_ANSWER,
  ECONNRESET: CLOSED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  '28P01': 'the password or the user name is wrong; correct them',
  '28000': "this user may not connect; check pg_hba.conf, or add '?sslmode=verify-full'",
  '3D000': 'there is no such database; create it with createdb',
  '42501':
    'this user may not create the tables; grant CREATE on the database, or USAGE and CREATE on an existing schema',
  '25006': 'it is read-only; use the address of the primary',
  '53300': 'it has no free connection; raise max_connections, or lower `connections`',
  '57P03': 'it is starting up or shutting down; try again',
}

/** Errors of `pg` itself have no code. */
const PHRASES: readonly (readonly [phrase: string, reason: string])[] = [
  ['timeout', NO_ANSWER],
  ['Connection terminated', CLOSED],
  ['password must be a', 'it asks for a password; add it to the URL'],
  ['not support SSL', 'it does not support TLS; remove `ssl` or sslmode, or enable TLS there'],
]
