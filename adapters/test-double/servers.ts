import { check, isObject, OptionError, optional } from '../../src/lib/check-options.js'
import type { ApiHandler, Connection } from '../../src/protocol/api-request.js'
import type { HttpServer, ListenOptions } from '../http/listen.js'
import type { EventLog } from './events.js'

export interface ServedHandler extends Required<ApiHandler> {
  endDelays(): void
  readonly token?: string | undefined
}

export interface DoubleServer extends HttpServer {
  /** The base of `/_control` with its token; null without the option `control`. */
  readonly control: string | null
}

/** Also a request listener of `node:http`, which loads the server's part on the first request. */
export type Listener = ServedHandler & ((request: unknown, response: unknown) => Promise<void>)

export function toListener(served: ServedHandler): Listener {
  const { basePath, maxBodyBytes, connect, handle, endDelays, token } = served
  const handler = { basePath, maxBodyBytes, connect, handle, endDelays, token }
  const listener = async (request: unknown, response: unknown) => {
    const { toNodeHandler } = await import('../http/index.js')
    toNodeHandler(handler)(request as never, response as never)
  }
  return Object.assign(listener, handler)
}

export function createServers(
  current: () => ServedHandler,
  connect: () => Connection,
  { activity }: Pick<EventLog, 'activity'>,
) {
  const servers = new Set<HttpServer>()

  return {
    async listen(options?: ListenOptions): Promise<DoubleServer> {
      check('options', options, optional(isObject))
      const { basePath, maxBodyBytes, handle, endDelays, token } = current()
      const http: Partial<typeof import('../http/index.js')> = await import('../http/index.js')
      // In a browser bundle, the server is left out.
      if (!http.listen) {
        throw new OptionError(
          { option: 'listen', expected: 'called in Node' },
          'listen needs Node; use `fetch` of the double, or MSW, in a browser',
        )
      }
      const served = { basePath, maxBodyBytes, connect, handle }
      const server = await http.listen(served, { port: 0, ...options })
      const close = async () => {
        servers.delete(closable)
        // Nobody may be left to advance the clock, also for requests that are still arriving.
        endDelays()
        activity.add(endDelaysSoon)
        await server.close()
        activity.delete(endDelaysSoon)
      }
      const endDelaysSoon = () => queueMicrotask(endDelays)
      const control = token === undefined ? null : `${server.origin}/_control/${token}`
      const closable = { ...server, control, close, [Symbol.asyncDispose]: close }
      servers.add(closable)
      return closable
    },
    async close() {
      await Promise.all([...servers].map(server => server.close()))
    },
  }
}
