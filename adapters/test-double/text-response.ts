/**
 * A response with a text as its body, which becomes a stream only when somebody reads it as one:
 * making the stream costs more than the request. A class, as it has to be a `Response`; defined
 * on first use, as naming `Response` makes Node load all of `fetch`.
 */
function defineTextResponse() {
  /** What is left as it is. The types of Node declare the rest as fields, which methods cannot replace. */
  const Head = Response as unknown as new (
    body: null,
    init: ResponseInit,
  ) => Pick<Response, 'status' | 'statusText' | 'headers'>

  return class TextResponse extends Head {
    readonly #text: string
    readonly #url: string
    #isRead = false
    #streamed: Response | undefined

    constructor(text: string, init: ResponseInit, url: string) {
      super(null, init)
      this.#text = text
      this.#url = url
    }

    get url() {
      return this.#url
    }

    get body() {
      return this.#asStream().body
    }

    get bodyUsed() {
      return this.#streamed?.bodyUsed ?? this.#isRead
    }

    async text() {
      if (this.#streamed || this.#isRead) return this.#asStream().text()
      this.#isRead = true
      return this.#text
    }

    async json() {
      return JSON.parse(await this.text())
    }

    arrayBuffer() {
      return this.#asStream().arrayBuffer()
    }

    blob() {
      return this.#asStream().blob()
    }

    formData() {
      return this.#asStream().formData()
    }

    /** Not in every version of Node that has `Response`. */
    bytes() {
      const streamed: Response & { bytes?(): Promise<Uint8Array> } = this.#asStream()
      return streamed.bytes?.() ?? streamed.arrayBuffer().then(buffer => new Uint8Array(buffer))
    }

    clone() {
      return at(this.#url, this.#asStream().clone())
    }

    /** The same response with its body as a stream: a used one, if its text has been read. */
    #asStream(): Response {
      if (this.#streamed) return this.#streamed
      const { status, statusText, headers } = this
      const streamed = new Response(this.#text, { status, statusText, headers })
      if (this.#isRead) void streamed.text()
      this.#streamed = streamed
      return streamed
    }
  }
}

let TextResponse: ReturnType<typeof defineTextResponse> | undefined

/** @param init with the type of the text, which `Response` would add */
export function textResponse(text: string, init: ResponseInit, url = ''): Response {
  if (NOT_AS_IT_IS.test(text)) return at(url, new Response(text, init))
  TextResponse ??= defineTextResponse()
  return new TextResponse(text, init, url) as unknown as Response
}

/** As bytes, a text has no lone surrogates, and reading it drops a BOM. */
const NOT_AS_IT_IS = /^\ufeff|\p{Surrogate}/u

/** As if it came from there. */
export function at(url: string, response: Response): Response {
  return Object.defineProperty(response, 'url', { value: url })
}
