/** Why Redis or Valkey cannot be used: one line that names the fix, without any password. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

/** Turns the failure of a command or connection into one line. */
export function explain(error: unknown, address: string): RedisError {
  if (error instanceof RedisError) return error
  const { code = '', message } = error as { code?: string; message: string }
  const words = `${code} ${message}`.toLowerCase()
  const known = PHRASES.find(([phrase]) => words.includes(phrase.toLowerCase()))
  return new RedisError(`${address}: ${known?.[1] ?? message.split('\n', 1)[0]}`, { cause: error })
}

const UNTRUSTED = 'its certificate is not trusted; pass the CA as `tls: { ca }`'
const UNKNOWN_HOST = 'the host is unknown; correct its name'
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
  ['NOAUTH', 'it asks for a password; add it to the URL'],
  [
    'NOPERM',
    'this user may not run the script; allow +eval +evalsha +get +set +del +scan +time +info, +cluster|slots in a cluster, +select for another database, and the keys of `prefix`',
  ],
  ['READONLY', 'it is a replica; use the address of the primary'],
  ['OOM', 'its memory is full; raise maxmemory, or give the counters a server of their own'],
  ['MISCONF', 'it cannot save its data and refuses writes; see its log'],
  ['LOADING', 'it is loading its data; try again'],
  [
    'root nodes are unavailable',
    'the cluster does not say what its nodes are; allow +cluster|slots, and check CLUSTER SLOTS',
  ],
  ['CLUSTERDOWN', 'the cluster is down; see CLUSTER INFO'],
  ['DB index', 'there is no such database; correct the number in the URL'],
  ['offline', 'not connected; it reconnects by itself'],
  ['Socket closed', 'the connection was closed; check that this is a Redis server'],
]
