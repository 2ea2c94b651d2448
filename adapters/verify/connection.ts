import type { Agent, IncomingMessage } from 'node:http'
import type { Reply } from './check-types.js'
import { codeOf, NoReply, readBody } from './no-reply.js'

/** A request with the exact case of its names and its target. */
export interface PlainRequest {
  readonly method: string
  /** A path, or a whole URL. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  /** Omitted if `headers` announce a body: the server is asked before it is sent. */
  readonly body?: string | Uint8Array | undefined
  readonly sent: string
}

/**
 * Sends requests in turn on one connection, or on a new one once the server has closed it. Ends
 * with the first request that gets no response.
 * @throws NoReply
 */
export async function sendOnConnection(
  { protocol, hostname, port }: URL,
  requests: readonly PlainRequest[],
  signal: AbortSignal,
): Promise<readonly Reply[]> {
  const { Agent, request: start } =
    protocol === 'http:' ? await import('node:http') : await import('node:https')
  const agent: Agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const host = hostname.replace(/^\[(.*)\]$/, '$1')

  const send = ({ method, target, headers, body, sent }: PlainRequest) =>
    new Promise<Reply>((resolve, reject) => {
      const address = { host, port, path: target, method, headers }
      const outgoing = start({ ...address, agent, signal })
      const isHeadOnly = body === undefined && 'content-length' in headers
      let reply: Promise<Reply> | undefined
      outgoing.on('response', response => {
        reply = read(response, { sent, method, target })
        // The connection stays open for the announced body.
        if (isHeadOnly) resolve(reply)
      })
      outgoing.on('error', error => reject(new NoReply(sent, codeOf(error))))
      // Only a closed connection proves that nothing followed the response.
      outgoing.on('close', () => {
        if (reply) resolve(reply)
        else reject(new NoReply(sent, 'ECONNRESET'))
      })
      if (isHeadOnly) outgoing.flushHeaders()
      else outgoing.end(body)
    })

  try {
    // All are queued at once, so that the next follows on the same connection.
    return await Promise.all(requests.map(send))
  } finally {
    agent.destroy()
  }
}

async function read(
  message: IncomingMessage,
  request: Pick<Reply, 'sent' | 'method' | 'target'>,
): Promise<Reply> {
  const headers = new Headers()
  for (const [name, values] of Object.entries(message.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const body = await readBody(message, request.sent)
  return { ...request, status: message.statusCode ?? 0, headers, body }
}
