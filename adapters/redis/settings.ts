import type { ConnectionOptions } from 'node:tls'

interface Patience {
  /** In ms. */
  readonly connectTimeout: number
  readonly reconnectStrategy: (retries: number, cause: Error) => number | Error
  /** Ends the sockets, also those that are still connecting, on which a client has no hold. */
  readonly signal: AbortSignal
}

/**
 * An address as settings of `@redis/client`. Parsed here, because errors of the client would contain
 * the URL and its password.
 */
export function readUrl(
  url: string,
  tls: ConnectionOptions | undefined,
  { connectTimeout, reconnectStrategy, signal }: Patience,
) {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const endpoint = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6379),
    connectTimeout,
    signal,
  }
  const secure = protocol === 'rediss:' || protocol === 'valkeys:'
  return {
    socket: secure
      ? { ...tls, ...endpoint, reconnectStrategy, tls: true as const }
      : { ...endpoint, reconnectStrategy },
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    database: Number(pathname.slice(1) || 0),
    RESP: 2,
    // While disconnected, requests are counted in this process at once.
    disableOfflineQueue: true,
    commandOptions: { timeout: 0 },
  } as const
}
