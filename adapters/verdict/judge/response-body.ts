import { collectBody, fieldsOf } from '../../http/target-and-body.js'
import { TextDecoder, TextEncoder } from '../../platform.js'
import { isJson, type Observed } from './observer.js'

/** An Error body is far shorter. */
const LONGEST_ERROR = 65_536
/** A list of a hundred animals, each with a long name. */
const LONGEST_JSON = 1_048_576

/**
 * Observes a body as the client reads it: the stream is as fast as its reader, and passes on every
 * chunk, the end, an error or a cancellation unchanged.
 */
export function observeBody(
  response: Response,
  observed: Observed,
  { method, signal }: { readonly method: string; readonly signal: AbortSignal | undefined },
): Response {
  const { body, status, statusText, headers } = response
  if (body === null || method === 'HEAD' || status < 200 || status > 599) return response
  const end = watchBody(status, fieldsOf(headers), observed)
  if (!body?.getReader) return observeText(response, end, signal)
  const reader = body.getReader()
  // The DOM of jsdom has no class of that name.
  const Stream = body.constructor as typeof ReadableStream
  const stream = new Stream({
    type: 'bytes',
    async pull(controller) {
      try {
        const value = await nextChunk(reader)
        if (value) {
          end.add(value)
          // A stream of bytes takes the whole buffer, of which this may be a part, as a Buffer is.
          controller.enqueue(new Uint8Array(value))
          return
        }
        end.complete()
        controller.close()
        controller.byobRequest?.respond(0)
      } catch (error) {
        end.fail(signal)
        throw error
      }
    },
    cancel: reason => reader.cancel(reason),
  })
  return withOrigin(new Response(stream, { status, statusText, headers }), response)
}

/** React Native has no `body`, and node-fetch one that is no web stream: both are read as text. */
function observeText(
  response: Response,
  end: ReturnType<typeof watchBody>,
  signal: AbortSignal | undefined,
): Response {
  const read = response.text.bind(response)
  const text = async () => {
    try {
      const whole = await read()
      end.add(new TextEncoder().encode(whole))
      end.complete()
      return whole
    } catch (error) {
      end.fail(signal)
      throw error
    }
  }
  return Object.assign(response, { text, json: async () => JSON.parse(await text()) })
}

/** Skips empty chunks, which a stream of bytes cannot pass on. Undefined at the end. */
async function nextChunk(reader: ReadableStreamDefaultReader<Uint8Array>) {
  for (;;) {
    const { done, value } = await reader.read()
    if (done || value.length > 0) return value
  }
}

/** Copies the origin of a response, which the constructor of `Response` does not take. */
function withOrigin(response: Response, { url, redirected, type }: Response): Response {
  const clone = () => withOrigin(Object.getPrototypeOf(response).clone.call(response), origin)
  const origin = { url, redirected, type } as Response
  const properties = { url, redirected, type, clone }
  for (const [name, value] of Object.entries(properties)) {
    Object.defineProperty(response, name, { value, configurable: true })
  }
  return response
}

/**
 * Follows a body of JSON, up to a length, and drops it at the end.
 * @param decode returns the text of its bytes; undefined for an unreadable encoding
 */
export function watchBody(
  status: number,
  headers: Readonly<Record<string, string>>,
  { read, lost }: Pick<Observed, 'read' | 'lost'>,
  decode: (bytes: Uint8Array) => string | undefined = bytes => new TextDecoder().decode(bytes),
) {
  const most = status < 400 ? LONGEST_JSON : LONGEST_ERROR
  const copy = isJson(headers) ? collectBody(most) : undefined
  let isWhole = true

  return {
    add(chunk: Uint8Array): void {
      if (isWhole && copy?.add(chunk)) isWhole = false
    },
    complete(): void {
      if (!copy || !isWhole) return
      const text = decode(copy.bytes())
      if (text === undefined) return
      try {
        JSON.parse(text)
        if (status >= 400) read(text)
      } catch {
        lost('malformed')
      }
    },
    /** @param signal if aborted, the client has lost nothing */
    fail: (signal: AbortSignal | undefined) => signal?.aborted || lost('truncate'),
  }
}
