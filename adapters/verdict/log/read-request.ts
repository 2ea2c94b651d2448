import { toApiError } from '../../../src/errors.js'
import { type Awaitable, chain, orElse } from '../../../src/lib/async.js'
import * as z from '../../../src/lib/zod.js'
import type { ApiRequest } from '../../../src/protocol/api-request.js'

/** A request without a body that is still to come. */
export interface ReadRequest extends ApiRequest {
  readonly body?: Uint8Array | string | undefined
  /** What was known of its sender when it was recorded, for a request that is replayed. */
  readonly seen?: SenderSeen | undefined
  /** The stack of the call in this process that sent it, where that is asked for. */
  readonly stack?: Error | undefined
}

/** Ms since the Unix epoch. */
export const instant = z.number().check(z.minimum(-8.64e15), z.maximum(8.64e15))

export const SENDER = {
  /** 1, 2, 3 … for the connections in use; each call of a double's `fetch` has its own. */
  connection: z.nullable(z.int()),
  /**
   * Whether its sender could have read every earlier response to this caller: only then is the
   * sender to blame.
   */
  sequential: z.boolean(),
  /**
   * Whether another request of its caller was in flight, as far as its connections show: none, one
   * with the same key, or one ahead of it on the same connection (pipelining).
   */
  overlap: z.enum(['none', 'key', 'connection']),
}
const senderSchema = z.object(SENDER)

/** What the connection of a request shows of its sender. */
export interface SenderSeen extends Readonly<z.infer<typeof senderSchema>> {}

/** Reads the body now, for handlers that look at it before the protocol does. Never rejects. */
export function withBodyRead(request: ApiRequest): Awaitable<ReadRequest> {
  const { body } = request
  if (typeof body !== 'function') return { ...request, body }
  return orElse(
    () => chain(body(), read => ({ ...request, body: read })),
    error => ({ ...request, body: undefined, refusal: toApiError(error) }),
  )
}
