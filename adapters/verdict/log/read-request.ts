import { toApiError } from '../../../src/api-error.js'
import { type Awaitable, chain, orElse } from '../../../src/lib/async.js'
import * as z from '../../../src/lib/zod.js'
import type { ApiRequest } from '../../../src/protocol/api-request.js'

/** A request whose body has been read. */
export interface ReadRequest extends ApiRequest {
  readonly body?: Uint8Array | string | undefined
  /** Sender information from a recording, for a request that is replayed. */
  readonly seen?: SenderSeen | undefined
  readonly stack?: Error | undefined
}

/** Ms since the Unix epoch. */
export const instant = z.number().check(z.minimum(-8.64e15), z.maximum(8.64e15))

export const SENDER = {
  /** 1, 2, 3 … for the connections in use; each call of a double's `fetch` has its own. */
  connection: z.nullable(z.int()),
  /** True if the sender could have read every earlier response: only then is it to blame. */
  sequential: z.boolean(),
  /** Other requests in flight: none, one with the same key, or one ahead on the connection (pipelining). */
  overlap: z.enum(['none', 'key', 'connection']),
}
const senderSchema = z.object(SENDER)

export interface SenderSeen extends Readonly<z.infer<typeof senderSchema>> {}

/** Reads the body early, for handlers that look at it before the protocol. Never rejects. */
export function withBodyRead(request: ApiRequest): Awaitable<ReadRequest> {
  const { body } = request
  if (typeof body !== 'function') return { ...request, body }
  return orElse(
    () => chain(body(), read => ({ ...request, body: read })),
    error => ({ ...request, body: undefined, refusal: toApiError(error) }),
  )
}
