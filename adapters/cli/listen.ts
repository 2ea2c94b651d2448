import type { ApiHandler } from '../../src/protocol/api.js'
import { type HttpServer, type ListenOptions, listen } from '../http/listen.js'
import { withoutSecrets } from './errors.js'

/** The options that name a port. */
export type PortFlag = 'port' | 'staging-port' | 'metrics'

/** Listens, or says in one line which option to change. @throws ListenError */
export async function listenOn(
  handler: ApiHandler,
  options: ListenOptions & { readonly host: string; readonly port: number },
  portFlag: PortFlag,
): Promise<HttpServer> {
  const { port } = options
  const host = withoutSecrets(options.host)
  const free = `use --${portFlag}${portFlag === 'metrics' ? `=${host}:` : ' '}0 to pick a free one`
  const problems: Readonly<Record<string, readonly [flag: string, message: string]>> = {
    EADDRINUSE: [portFlag, `port ${port} is taken; ${free}`],
    EACCES: [portFlag, `port ${port} is not allowed; ${free}`],
    EADDRNOTAVAIL: ['host', `${host} is not an address of this machine; use --host 127.0.0.1`],
    ENOTFOUND: ['host', `${host} is not a known host; use --host 127.0.0.1`],
  }
  return listen(handler, options).catch(error => {
    const [flag, message] = problems[(error as NodeJS.ErrnoException).code ?? ''] ?? []
    throw message === undefined ? error : new ListenError(message, `--${flag}`)
  })
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
