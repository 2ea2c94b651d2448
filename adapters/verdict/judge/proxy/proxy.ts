import { Agent as HttpAgent, type ServerResponse } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { invalidRequest } from '../../../../src/api-error.js'
import { DAY } from '../../../../src/limits/windows-and-bans.js'
import type { ApiRequest, ApiResponse } from '../../../../src/protocol/api-request.js'
import { listen } from '../../../http/listen.js'
import { overLoopback } from '../../../http/loopback.js'
import { createConnections } from '../../log/callers.js'
import type { Observer } from '../observer.js'
import { errorAnswer, type UpstreamFailure } from './failure.js'
import { forward, type Link } from './forward.js'

export interface ProxyOptions {
  readonly baseUrl: string
  readonly observer: Observer
  /** Longest silence of the service, in ms: while connecting, before its response, and within. */
  readonly timeoutMs: number
}

/** A server on loopback that passes everything on to one service, and lets the verdict see it. */
export async function openProxy({ baseUrl, observer, timeoutMs }: ProxyOptions) {
  const service = new URL(baseUrl)
  const Agent = service.protocol === 'https:' ? HttpsAgent : HttpAgent
  const connect = createConnections()
  const exchanges = new Map<ServerResponse, Promise<void>>()
  const failures: UpstreamFailure[] = []

  const handler = {
    basePath: service.pathname.replace(/(?<!\/)\/+$/, ''),
    maxBodyBytes: Number.MAX_SAFE_INTEGER,
    connect: (): Link =>
      Object.assign(connect(), {
        agent: new Agent({ keepAlive: true, maxSockets: 1 }),
        turn: Promise.resolve(),
        pending: 0,
      }),
    handle(request: ApiRequest): ApiResponse {
      const refusal = refusalOf(request)
      if (refusal) return refusal
      const observed = observer.begin({ ...request, body: undefined })
      return { status: 200, headers: {}, body: '', deliver }

      function deliver(given: unknown): void {
        const response = given as ServerResponse
        const link = request.connection as Link
        const forwarding = { request, response, link, service, timeoutMs, observed, failures }
        link.pending++
        link.turn = link.turn
          .then(() => forward(forwarding))
          .then(() => {
            link.pending--
            exchanges.delete(response)
          })
        exchanges.set(response, link.turn)
      }
    },
  }
  // The service decides how long an idle connection is kept, and a body may take its time.
  const timeouts = { headersTimeout: 60_000, requestTimeout: DAY, keepAliveTimeout: DAY }
  const server = await listen(overLoopback(handler), { port: 0, ...timeouts })

  return {
    url: server.url,
    failures: failures as readonly UpstreamFailure[],
    async close(): Promise<void> {
      const cut = [...exchanges]
      for (const [response] of cut) response.req.socket.destroy()
      await Promise.all([server.close(), ...cut.map(([, exchange]) => exchange)])
    },
  }
}

/** RFC 9112 §3.2: a target other than a path would be for a proxy to other origins. */
function refusalOf({ method, path, refusal }: ApiRequest): ApiResponse | undefined {
  if (refusal) return errorAnswer(method, refusal)
  if (path.startsWith('/')) return undefined
  return errorAnswer(method, invalidRequest('This proxy reaches one service only: send a path.'))
}
