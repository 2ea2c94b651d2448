import type { ApiHandler, ApiResponse } from '../src/api.js'

export interface FetchHandlerOptions {
  /**
   * The caller's address, for counting requests without a valid key. @default none: all share one
   * budget
   */
  readonly client?: string
}

/** A WHATWG fetch handler, as Deno, Bun, workers and most frameworks take it. */
export function toFetchHandler(
  handler: ApiHandler,
): (request: Request, options?: FetchHandlerOptions) => Promise<Response> {
  return async (request, { client } = {}) => {
    const { pathname, search } = new URL(request.url)
    const answer = await handler.handle({
      method: request.method,
      path: pathname,
      query: search.slice(1),
      headers: Object.fromEntries(request.headers),
      body: request.body ? await readAtMost(request.body, handler.maxBodyBytes + 1) : undefined,
      client,
    })
    return toResponse(answer)
  }
}

/** The answer as a fetch `Response`. */
export function toResponse({ status, headers, body }: ApiResponse): Response {
  return new Response(body === '' ? null : body, { status, headers })
}

/** The first chunks, up to the one that reaches `limit` bytes; the rest is cancelled unread. */
async function readAtMost(stream: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= limit) break
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
