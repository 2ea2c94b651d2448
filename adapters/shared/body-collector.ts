import { ApiError, invalidRequest } from '../../src/errors.js'

/** Collects a body up to a limit, for every door. */
export interface BodyCollector {
  /** @returns whether the limit is reached; nothing is added from then on */
  add(chunk: Uint8Array): boolean
  bytes(): Uint8Array
}

/** One growing buffer: kept as they come, chunks of one byte would cost hundreds of bytes each. */
export function collectBody(limit: number): BodyCollector {
  let buffer: Uint8Array = new Uint8Array()
  let length = 0

  return {
    add(chunk) {
      if (length >= limit) return true
      if (length === 0) buffer = chunk
      else append(chunk)
      length += chunk.length
      return length >= limit
    },
    bytes: () => (length === buffer.length ? buffer : buffer.subarray(0, length)),
  }

  function append(chunk: Uint8Array): void {
    const needed = length + chunk.length
    if (needed > buffer.length) {
      const larger = new Uint8Array(Math.max(2 * length, needed))
      larger.set(buffer.subarray(0, length))
      buffer = larger
    }
    buffer.set(chunk, length)
  }
}

/** The client is gone, or its stream failed. */
export function bodyEnded(): ApiError {
  return invalidRequest('The body ended early.')
}

/** A mistake of the app around the door. */
export function bodyAlreadyRead(): ApiError {
  const message = 'The body was already read; mount this handler before any body parser.'
  return new ApiError('internal_error', message)
}
