import { toApiError } from '../../src/errors.js'
import { type Awaitable, chain, orElse } from '../../src/lib/async.js'
import type { ApiRequest } from '../../src/protocol/api.js'

/** A request without a body that is still to come. */
export interface ReadRequest extends ApiRequest {
  readonly body?: Uint8Array | string | undefined
  /** What was known of its sender when it was recorded, for a request that is replayed. */
  readonly seen?: Seen | undefined
}

interface Seen {
  readonly connection: number | null
  readonly sequential: boolean
  readonly overlap: 'none' | 'key' | 'connection'
}

/** Reads the body now, for handlers that look at it before the protocol does. Never rejects. */
export function withBodyRead(request: ApiRequest): Awaitable<ReadRequest> {
  const { body } = request
  if (typeof body !== 'function') return { ...request, body }
  return orElse(
    () => chain(body(), read => ({ ...request, body: read })),
    error => ({ ...request, body: undefined, refusal: toApiError(error) }),
  )
}
