import type { ApiHandler } from '../../../src/protocol/api-request.js'
import { type HttpServer, type ListenOptions, listen } from '../../http/listen.js'
import { withoutSecrets } from '../usage-error.js'

export type PortFlag = 'port' | 'staging-port' | 'metrics'

/** Listens, or names in one line the option to change. */
export async function listenOn(
  handler: ApiHandler,
  options: ListenOptions & { readonly host: string; readonly port: number },
  portFlag: PortFlag,
): Promise<HttpServer> {
  const { port } = options
  const host = withoutSecrets(options.host)
  const words = `--${portFlag}${portFlag === 'metrics' ? `=${host}:` : ' '}0`
  // A command that works as typed: npm passes on only what follows `--`.
  const command = process.env['npm_lifecycle_event'] === 'start' ? `npm start -- ${words}` : words
  const free = `use ${command} to pick a free one`
  const loopback = `use --${portFlag === 'metrics' ? `metrics=127.0.0.1:${port}` : 'host 127.0.0.1'}`
  const problems: Readonly<Record<string, string>> = {
    EACCES: `port ${port} is not allowed; ${free}`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; ${loopback}`,
    ENOTFOUND: `${host} is not a known host; ${loopback}`,
  }
  return listen(handler, options).catch(async (error: NodeJS.ErrnoException) => {
    const taken = error.code === 'EADDRINUSE' && `port ${port} is taken${await owner(host, port)}`
    const message = taken ? `${taken}; ${free}` : problems[error.code ?? '']
    throw message === undefined ? error : new Error(message)
  })
}

async function owner(host: string, port: number): Promise<string> {
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/`
  const init = { headers: { accept: 'application/json' }, signal: AbortSignal.timeout(1_000) }
  try {
    const { name } = (await (await fetch(url, init)).json()) as { readonly name?: unknown }
    return name === 'animal-adoption-store' ? `: a store answers at ${url} already` : ''
  } catch {
    return ''
  }
}
