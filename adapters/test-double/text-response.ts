/**
 * A `Response` of the platform costs a seventh of a call, and a stream of its body more than the call,
 * so each is made when needed. Defined on first use, as naming `Response` makes Node load all of `fetch`.
 */
function defineTextResponse() {
  class TextResponse {
    static {
      for (const name of ['statusText', 'headers', 'type', 'redirected'] as const) {
        Object.defineProperty(TextResponse.prototype, name, {
          get(this: TextResponse) {
            return this.#asHead()[name]
          },
        })
      }
      // Some versions of Node lack `bytes`.
      for (const name of ['arrayBuffer', 'blob', 'formData', 'bytes'] as ReadOnce[]) {
        if (!(name in Response.prototype)) continue
        Object.defineProperty(TextResponse.prototype, name, {
          value(this: TextResponse) {
            return this.#asStream()[name]()
          },
        })
      }
    }

    readonly #text: string
    readonly #init: TextInit
    readonly #url: string
    #isRead = false
    #head: Response | undefined
    #streamed: Response | undefined

    constructor(text: string, init: TextInit, url: string) {
      this.#text = text
      this.#init = init
      this.#url = url
    }

    get url() {
      return this.#url
    }

    get status() {
      return this.#init.status
    }

    get ok() {
      return this.status >= 200 && this.status <= 299
    }

    get body() {
      return this.#asStream().body
    }

    get bodyUsed() {
      return this.#streamed?.bodyUsed ?? this.#isRead
    }

    async text() {
      return this.#take() ?? this.#asStream().text()
    }

    async json() {
      const text = this.#take()
      return text === undefined ? this.#asStream().json() : JSON.parse(text)
    }

    clone() {
      return at(this.#url, this.#asStream().clone())
    }

    /** Returns the text, unless it has been read or is being read as a stream. */
    #take(): string | undefined {
      if (this.#streamed || this.#isRead) return undefined
      this.#isRead = true
      return this.#text
    }

    #asHead(): Response {
      this.#head ??= new Response(null, this.#init)
      return this.#head
    }

    /** Returns the response with its body as a stream: a used one, if its text has been read. */
    #asStream(): Response {
      if (this.#streamed) return this.#streamed
      const streamed = new Response(this.#text, this.#asHead())
      if (this.#isRead) void streamed.text()
      this.#streamed = streamed
      return streamed
    }
  }
  Object.setPrototypeOf(TextResponse.prototype, Response.prototype)
  return TextResponse
}

type ReadOnce = 'arrayBuffer' | 'blob' | 'formData'
type TextInit = ResponseInit & { readonly status: number }

let TextResponse: ReturnType<typeof defineTextResponse> | undefined

/** @param init includes the content type, which `Response` would add */
export function textResponse(text: string, init: TextInit, url = ''): Response {
  if (NOT_AS_IT_IS.test(text)) return at(url, new Response(text, init))
  TextResponse ??= defineTextResponse()
  return new TextResponse(text, init, url) as unknown as Response
}

/** Encoding as bytes replaces lone surrogates, and decoding drops a BOM. */
const NOT_AS_IT_IS = /^\ufeff|\p{Surrogate}/u

export function at(url: string, response: Response): Response {
  return Object.defineProperty(response, 'url', { value: url })
}
