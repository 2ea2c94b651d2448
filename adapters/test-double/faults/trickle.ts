import type { Clock } from '../../../src/ports.js'
import type { ApiResponse } from '../../../src/protocol/api.js'
import type { TrickleFault } from './fault.js'

/** The time in which a body trickles. */
export interface TrickleTime {
  readonly now: Clock
  /** Ends early when nobody is left to wait. */
  pause(ms: number): Promise<void>
}

/** The response with its body in pieces, each of which takes a while. */
export function trickled(answer: ApiResponse, fault: TrickleFault, time: TrickleTime): ApiResponse {
  const body = new TextEncoder().encode(answer.body)
  return { ...answer, stream: () => pieces(body, fault, time) }
}

/** Due by the clock, however late the one before was read. */
async function* pieces(
  body: Uint8Array,
  { bytes, ms }: TrickleFault,
  { now, pause }: TrickleTime,
): AsyncGenerator<Uint8Array> {
  let due = now()
  let isOver = false
  for (let sent = 0; sent < body.length; sent += bytes) {
    due += ms
    if (!isOver && now() < due) {
      await pause(due - now())
      isOver = now() < due
    }
    yield body.subarray(sent, sent + bytes)
  }
}
