import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { ApiResponse } from '../../src/api.js'

/** How a network can lose an answer: a TCP reset, silence, or half of the body and then the end. */
export type LostBy = 'reset' | 'hang' | 'truncate'

/** An answer that may be lost on its way. */
export interface LosableAnswer extends ApiResponse {
  readonly lostBy?: LostBy | undefined
}

/** The same answer, lost: on a socket by `deliver`, in process by those who read `lostBy`. */
export function lost(answer: ApiResponse, lostBy: LostBy): LosableAnswer {
  const deliver = (response: unknown) => DELIVERIES[lostBy](response as ServerResponse, answer)
  return { ...answer, lostBy, deliver }
}

const DELIVERIES: Record<LostBy, (response: ServerResponse, answer: ApiResponse) => void> = {
  hang() {},
  reset(response) {
    response.req.socket.resetAndDestroy()
  },
  truncate(response, { status, headers, body }) {
    response.sendDate = false
    response.writeHead(status, headers as OutgoingHttpHeaders)
    response.write(firstHalf(body))
    response.req.socket.destroySoon()
  },
}

/** Half of the bytes, for an answer that announces all of them. */
export function firstHalf(body: string): Uint8Array {
  const bytes = Buffer.from(body)
  return bytes.subarray(0, bytes.length >> 1)
}
