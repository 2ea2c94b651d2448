import type { ApiHandler } from '../../src/protocol/api.js'
import { type HttpServer, listen } from '../http/listen.js'
import { withoutUrl } from './without-secrets.js'

/** The options that name a port. */
export type PortFlag = 'port' | 'staging-port' | 'metrics'

/** Listens, or says in one line which option to change. @throws ListenError */
export async function listenOn(
  handler: ApiHandler,
  options: { readonly host: string; readonly port: number; readonly proxyHops?: number },
  portFlag: PortFlag,
): Promise<HttpServer> {
  const { host, port } = options
  const free = `use --${portFlag}${portFlag === 'metrics' ? `=${host}:` : ' '}0 to pick a free one`
  try {
    return await listen(handler, options)
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case 'EADDRINUSE':
        throw new ListenError(`port ${port} is taken; ${free}`, `--${portFlag}`)
      case 'EACCES':
        throw new ListenError(`port ${port} is not allowed; ${free}`, `--${portFlag}`)
      case 'EADDRNOTAVAIL':
        throw new ListenError(
          `${withoutUrl(host)} is not an address of this machine; use --host 127.0.0.1`,
          '--host',
        )
      case 'ENOTFOUND':
        throw new ListenError(
          `${withoutUrl(host)} is not a known host; use --host 127.0.0.1`,
          '--host',
        )
      default:
        throw error
    }
  }
}

/** The address cannot be bound: exit code 1, since the same words may work later. */
class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly flags: readonly string[]

  constructor(message: string, flag: string) {
    super(message)
    this.flags = [flag]
  }
}
