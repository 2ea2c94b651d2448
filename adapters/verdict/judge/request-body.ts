import { collectBody, fieldsOf } from '../../http/target-and-body.js'

type FetchArguments = Parameters<typeof globalThis.fetch>

/** The API accepts no larger body. */
const MOST_BYTES = 1_048_576

/** Reads a call of `fetch` without changing it; undefined for calls that `fetch` cannot send. */
export function readOutgoing(...given: FetchArguments) {
  const [input, init] = given
  const request = requestIn(input)
  try {
    const method = `${init?.method ?? request?.method ?? 'GET'}`
    const signal = init?.signal === undefined ? request?.signal : init.signal
    return {
      url: new URL(request?.url ?? `${input}`, PAGE.location?.href),
      method: NORMALIZED.test(method) ? method.toUpperCase() : method,
      headers: fieldsOf(new Headers(init?.headers ?? request?.headers)),
      signal: signal ?? undefined,
      /** Passes on the body, or its first MiB. @returns the arguments for `fetch` */
      observe: (sent: (body: Uint8Array) => void) => observeRequest(given, request, sent),
    }
  } catch {
    return undefined
  }
}

/** In a browser, addresses may be relative to the page. */
const PAGE = globalThis as { readonly location?: { readonly href: string } }

/** Fetch Standard, "normalize a method". */
const NORMALIZED = /^(delete|get|head|options|post|put)$/i

/** A `Request` may be another implementation's. */
function requestIn(input: FetchArguments[0]): Request | undefined {
  return typeof input === 'object' && !(input instanceof URL) ? input : undefined
}

async function observeRequest(
  given: FetchArguments,
  request: Request | undefined,
  sent: (body: Uint8Array) => void,
): Promise<FetchArguments> {
  const [input, init] = given
  const body = init?.body
  if (body === undefined || body === null) {
    // Firefox has no `body` of a request, and node-fetch one that is no web stream.
    if (body === undefined && request && request.body !== null) void readCopy(request, sent)
    return given
  }
  if (Symbol.asyncIterator in Object(body)) {
    return [input, { ...init, body: observeStream(body as never, sent) }]
  }
  // Some browsers cannot iterate over it.
  if ('getReader' in Object(body)) return given
  try {
    // A form has another boundary each time, so no two bodies are equal.
    const start = new Response(body instanceof Blob ? body.slice(0, MOST_BYTES) : body)
    sent(new Uint8Array(await start.arrayBuffer()))
  } catch {
    // An unreadable body, such as a changed file, also fails where it is sent.
  }
  return given
}

/** Reads a copy up to the limit, because the body of a `Request` can be read once. */
async function readCopy(request: Request, sent: (body: Uint8Array) => void): Promise<void> {
  const body = collectBody(MOST_BYTES)
  try {
    // A used body cannot be copied, and `fetch` refuses it.
    const copy = request.clone()
    const reader = copy.body?.getReader?.()
    if (!reader) body.add(new Uint8Array(await copy.arrayBuffer()).subarray(0, MOST_BYTES))
    for (let part = await reader?.read(); part?.value; part = await reader?.read()) {
      if (body.add(part.value)) void reader?.cancel().catch(() => {})
    }
  } catch {
    // The body also fails where it is sent.
  }
  sent(body.bytes())
}

/** Passes on the same chunks, no earlier than they are requested. */
function observeStream(
  body: AsyncIterable<Uint8Array>,
  sent: (body: Uint8Array) => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = body[Symbol.asyncIterator]()
  const copy = collectBody(MOST_BYTES)
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (value instanceof Uint8Array) copy.add(value)
        if (!done) return controller.enqueue(value as Uint8Array<ArrayBuffer>)
        sent(copy.bytes())
        controller.close()
      },
      async cancel(reason) {
        sent(copy.bytes())
        await chunks.return?.(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
