import { brand } from '../../src/lib/brand.js'

/** Explains why Redis or Valkey cannot be used, in one line with the fix and no password. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}
brand({ RedisError })

export function explain(error: unknown, address: string): RedisError {
  if (error instanceof RedisError) return error
  const { message } = error as Error
  const known = reasonIn(LASTING, error) ?? reasonIn(PASSING, error)
  // A failed command holds its arguments, such as AUTH's password.
  delete (error as { command?: unknown }).command
  return new RedisError(`${address}: ${known ?? message.split('\n', 1)[0]}`, { cause: error })
}

/** The failure may end without a change to the options or the user's permissions. */
export function isPassing({ cause }: RedisError): boolean {
  return !reasonIn(LASTING, cause)
}

function reasonIn(failures: Failures, error: unknown): string | undefined {
  const { code = '', message } = error as { code?: string; message: string }
  return failures.find(([pattern]) => pattern.test(`${code} ${message}`))?.[1]
}

export const NOT_INSTALLED = 'The package ioredis is not installed; run: npm install ioredis'

/** By Node's error codes, and phrases of Redis and its client. */
type Failures = readonly (readonly [pattern: RegExp, reason: string])[]

const LASTING: Failures = [
  [
    /self-signed certificate|unable to verify/i,
    'its certificate is not trusted; pass the CA as `tls: { ca }`, or as ?ca=<file> of --rate-limit-store',
  ],
  [/WRONGPASS/i, 'the password or the user name is wrong; correct them'],
  [/NOAUTH/i, 'it asks for a password; add it to the URL'],
  [
    /NOPERM/i,
    'this user may not run the script; allow +eval +evalsha +get +set +del +scan +time +info, +cluster|slots +cluster|info in a cluster, +select for another database, and the keys of `prefix`',
  ],
  [/MOVED/i, 'it is a server of a cluster; pass a Cluster of ioredis as `client`'],
  [/DB index/i, 'there is no such database; correct the number in the URL'],
  [/ERR_MODULE_NOT_FOUND/i, NOT_INSTALLED],
]
const PASSING: Failures = [
  [/ECONNREFUSED/i, 'nothing listens there; start Redis, or correct the host and port'],
  [/ENOTFOUND|EAI_AGAIN/i, 'the host is unknown; correct its name'],
  [/timeout|ETIMEDOUT/i, 'no answer in time; check the address, the firewall and TLS'],
  [/READONLY/i, 'it is a replica; use the address of the primary'],
  [/OOM/i, 'its memory is full; raise maxmemory, or give the counters a server of their own'],
  [/MISCONF/i, 'it cannot save its data and refuses writes; see its log'],
  [/LOADING/i, 'it is loading its data; try again'],
  [
    /slots cache/i,
    'the cluster does not say what its nodes are; allow +cluster|slots +cluster|info, and check CLUSTER SLOTS',
  ],
  [/CLUSTERDOWN/i, 'the cluster is down; see CLUSTER INFO'],
  [/offline|max retries per request/i, 'not connected; it reconnects by itself'],
  [
    /Connection is closed|(RESP|reply) type/i,
    'the connection was closed; check that this is a Redis server',
  ],
]
