import { chain, lazy } from '../../src/lib/async.js'
import { check, isObject, OptionError, optional } from '../../src/lib/options.js'
import type { ApiHandler, ApiRequest, Connection } from '../../src/protocol/api.js'
import type { HttpServer, ListenOptions } from '../http/index.js'

/** What the servers of a double serve. */
export interface ServedHandler extends ApiHandler {
  /** Ends the delays of requests, as if their time had passed. */
  endDelays(): void
}

/** The servers of a double. */
export interface Servers {
  /** @throws OptionError */
  listen(options?: ListenOptions): Promise<HttpServer>
  close(): Promise<void>
}

export function createServers(current: () => ServedHandler, connect: () => Connection): Servers {
  const servers = new Set<HttpServer>()

  return {
    async listen(options) {
      check('options', options, optional(isObject))
      const handler = current()
      let isClosing = false
      /** Nobody may be left to advance the clock. */
      const endDelaysWhileClosing = () => {
        if (isClosing) handler.endDelays()
      }
      const { listen } = await nodeHttp()
      const server = await listen(
        {
          basePath: handler.basePath,
          maxBodyBytes: handler.maxBodyBytes,
          connect,
          handle(request) {
            const answer = handler.handle(afterBody(request, endDelaysWhileClosing))
            endDelaysWhileClosing()
            return chain(answer, response => {
              // A body that trickles begins to wait when it is sent.
              if (response.stream) setImmediate(endDelaysWhileClosing)
              return response
            })
          },
        },
        { port: 0, ...options },
      )
      const close = () => {
        isClosing = true
        servers.delete(closable)
        handler.endDelays()
        return server.close()
      }
      const closable = { ...server, close, [Symbol.asyncDispose]: close }
      servers.add(closable)
      return closable
    },
    async close() {
      await Promise.all([...servers].map(server => server.close()))
    },
  }
}

/** Calls back once a body that is still to be read has begun its request. */
function afterBody(request: ApiRequest, call: () => void): ApiRequest {
  const { body } = request
  if (typeof body !== 'function') return request
  const read = async () => {
    const bytes = await body()
    setImmediate(call)
    return bytes
  }
  return { ...request, body: read }
}

/** Browsers have no sockets: a bundle for them has nothing in place of the door. */
const nodeHttp = lazy(async () => {
  const http: Partial<typeof import('../http/index.js')> = await import('../http/index.js')
  if (http.listen) return { listen: http.listen }
  throw new OptionError(
    { option: 'listen', expected: 'called in Node' },
    'listen needs Node; use `fetch` of the double, or MSW, in a browser',
  )
})
