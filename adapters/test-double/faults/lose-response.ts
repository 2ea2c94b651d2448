import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ApiResponse } from '../../../src/protocol/api-request.js'

/** Ways to lose a response: a TCP reset, silence, or half of the body and then the end. */
export type LostBy = 'reset' | 'hang' | 'truncate'

export interface LosableAnswer extends ApiResponse {
  /** What a call in process gets. @param hang never resolves @throws TypeError as `fetch` does */
  readonly lose?: ((hang: () => Promise<never>) => Response | Promise<never>) | undefined
}

/** Marks a response as lost: on a socket by `deliver`, in process by `lose`. */
export function lost(answer: ApiResponse, lostBy: LostBy): LosableAnswer {
  const { onSocket, inProcess } = LOSSES[lostBy]
  return {
    ...answer,
    deliver: response => onSocket(response as ServerResponse, answer),
    lose: hang => inProcess(answer, hang),
  }
}

interface Loss {
  readonly onSocket: (response: ServerResponse, answer: ApiResponse) => void
  readonly inProcess: (answer: ApiResponse, hang: () => Promise<never>) => Response | Promise<never>
}

const LOSSES: Record<LostBy, Loss> = {
  hang: { onSocket() {}, inProcess: (_, hang) => hang() },
  reset: {
    onSocket: response => response.req.socket.resetAndDestroy(),
    inProcess() {
      const cause = new Error('read ECONNRESET')
      throw fetchFailed(Object.assign(cause, { errno: -104, code: 'ECONNRESET', syscall: 'read' }))
    },
  },
  truncate: {
    onSocket(response, { status, headers, body }) {
      response.writeHead(status, headers as OutgoingHttpHeaders)
      response.write(firstHalf(body))
      response.req.socket.destroySoon()
    },
    inProcess: ({ status, headers, body }) => {
      const error = new TypeError('terminated', { cause: otherSideClosed() })
      const stream = new ReadableStream<Uint8Array>({
        start: controller => controller.enqueue(firstHalf(body)),
        pull: controller => controller.error(error),
      })
      return new Response(stream, { status, headers })
    },
  },
}

/** Half of the bytes, for a response that announces all of them. */
function firstHalf(body: string): Uint8Array {
  const bytes = new TextEncoder().encode(body)
  return bytes.subarray(0, bytes.length >> 1)
}

export function fetchFailed(cause: Error = otherSideClosed()): TypeError {
  return new TypeError('fetch failed', { cause })
}

function otherSideClosed(): Error {
  const cause = new Error('other side closed')
  return Object.assign(cause, { name: 'SocketError', code: 'UND_ERR_SOCKET' })
}
