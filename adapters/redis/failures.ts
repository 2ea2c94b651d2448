import { brand } from '../../src/lib/brand.js'

/** Explains why Redis or Valkey cannot be used, in one line with the fix and no password. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}
brand({ RedisError })

export function explain(error: unknown, address: string): RedisError {
  if (error instanceof RedisError) return error
  const { message } = error as Error
  const reason = knownFailure(error)?.[1] ?? message.split('\n', 1)[0]
  // A failed command holds its arguments, such as AUTH's password.
  delete (error as { command?: unknown }).command
  return new RedisError(`${address}: ${reason}`, { cause: error })
}

/** The failure may end without a change to the options or the user's permissions. */
export function isPassing({ cause }: RedisError): boolean {
  const lasting: readonly unknown[] = [
    UNTRUSTED,
    WRONG_PASSWORD,
    NO_PASSWORD,
    NO_RIGHTS,
    NO_DATABASE,
    IN_CLUSTER,
    NOT_INSTALLED,
  ]
  return !lasting.includes(knownFailure(cause)?.[1])
}

function knownFailure(error: unknown) {
  const { code = '', message } = error as { code?: string; message: string }
  const words = `${code} ${message}`.toLowerCase()
  return PHRASES.find(([phrase]) => words.includes(phrase.toLowerCase()))
}

export const NOT_INSTALLED = 'The package ioredis is not installed; run: npm install ioredis'
const UNTRUSTED =
  'its certificate is not trusted; pass the CA as `tls: { ca }`, or as ?ca=<file> of --rate-limit-store'
const UNKNOWN_HOST = 'the host is unknown; correct its name'
const NO_PASSWORD = 'it asks for a password; add it to the URL'
const NO_RIGHTS =
  'this user may not run the script; allow +eval +evalsha +get +set +del +scan +time +info, +cluster|slots +cluster|info in a cluster, +select for another database, and the keys of `prefix`'
const NO_DATABASE = 'there is no such database; correct the number in the URL'
const IN_CLUSTER = 'it is a server of a cluster; pass a Cluster of ioredis as `client`'
const WRONG_PASSWORD = 'the password or the user name is wrong; correct them'

/** Node's error codes, and phrases of Redis and its client. */
const PHRASES: readonly (readonly [phrase: string, reason: string])[] = [
  ['ECONNREFUSED', 'nothing listens there; start Redis, or correct the host and port'],
  ['ENOTFOUND', UNKNOWN_HOST],
  ['EAI_AGAIN', UNKNOWN_HOST],
  ['self-signed certificate', UNTRUSTED],
  ['unable to verify', UNTRUSTED],
  ['timeout', 'no answer in time; check the address and the firewall'],
  ['WRONGPASS', WRONG_PASSWORD],
  ['NOAUTH', NO_PASSWORD],
  ['NOPERM', NO_RIGHTS],
  ['READONLY', 'it is a replica; use the address of the primary'],
  ['MOVED', IN_CLUSTER],
  ['OOM', 'its memory is full; raise maxmemory, or give the counters a server of their own'],
  ['MISCONF', 'it cannot save its data and refuses writes; see its log'],
  ['LOADING', 'it is loading its data; try again'],
  [
    'slots cache',
    'the cluster does not say what its nodes are; allow +cluster|slots +cluster|info, and check CLUSTER SLOTS',
  ],
  ['CLUSTERDOWN', 'the cluster is down; see CLUSTER INFO'],
  ['DB index', NO_DATABASE],
  ['offline', 'not connected; it reconnects by itself'],
  ['max retries per request', 'not connected; it reconnects by itself'],
  ['ERR_MODULE_NOT_FOUND', NOT_INSTALLED],
  ['Connection is closed', 'the connection was closed; check that this is a Redis server'],
]
