import type { Socket } from 'node:net'
import type { RawExchange, Reply } from './check.js'

export interface RawOptions {
  readonly url: URL
  readonly text: string
  readonly methods: readonly string[]
  readonly timeoutMs: number
  /** The request in words. */
  readonly sent: string
}

/** Writes bytes as they are, right or wrong, and reads the responses. */
export async function exchangeBytes(options: RawOptions): Promise<RawExchange> {
  const { url, text, methods, timeoutMs, sent } = options
  const socket = await open(url)
  let received = ''
  let closed = false

  return new Promise((resolve, reject) => {
    const end = (error?: Error) => {
      socket.destroy()
      const { replies, rest } = readReplies(received, methods, closed, sent)
      // What was received before a reset still counts.
      if (error && replies.length === 0) reject(error)
      else resolve({ replies, rest, closed })
    }
    const isComplete = () =>
      readReplies(received, methods, false, sent).replies.length >= methods.length
    socket.setEncoding('latin1')
    socket.setTimeout(timeoutMs, () => end())
    socket.on('data', chunk => {
      received += chunk
      if (isComplete()) end()
    })
    socket.on('close', () => {
      closed = true
      end()
    })
    socket.on('end', () => {
      closed = true
      end()
    })
    socket.on('error', end)
    socket.on('connect', () => socket.write(text, 'latin1'))
  })
}

async function open({ protocol, hostname, port }: URL): Promise<Socket> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (protocol === 'http:') {
    const { connect } = await import('node:net')
    return connect({ host, port: Number(port || 80) })
  }
  const { connect } = await import('node:tls')
  // A server name is never an address (RFC 6066 §3).
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host }
  return connect({ host, port: Number(port || 443), ...servername })
}

/** The complete responses at the start of a text, at most one for each method. */
export function readReplies(
  text: string,
  methods: readonly string[],
  closed: boolean,
  sent: string,
): { replies: readonly Reply[]; rest: string } {
  const replies: Reply[] = []
  let rest = text
  for (const method of methods) {
    const read = readReply(rest, method, closed, sent)
    if (!read) break
    replies.push(read.reply)
    rest = read.rest
  }
  return { replies, rest }
}

function readReply(
  text: string,
  method: string,
  closed: boolean,
  sent: string,
): { reply: Reply; rest: string } | undefined {
  const [head, status] = /^HTTP\/1\.[01] (\d{3})[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text) ?? []
  if (head === undefined) return undefined
  const rest = text.slice(head.length)
  // RFC 9110 §15.2: interim responses precede the real one.
  if (status?.startsWith('1')) return readReply(rest, method, closed, sent)
  const headers = readHeaders(head)
  const isEmpty = method === 'HEAD' || status === '204'
  const content = isEmpty ? { bytes: '', length: 0 } : readContent(rest, headers, closed)
  if (!content) return undefined
  const body = Buffer.from(content.bytes, 'latin1').toString()
  return {
    reply: { sent, status: Number(status), headers, body },
    rest: rest.slice(content.length),
  }
}

function readHeaders(head: string): Headers {
  const headers = new Headers()
  for (const line of head.split('\r\n').slice(1)) {
    const [, name, value] = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? []
    if (name && value !== undefined) headers.append(name, value)
  }
  return headers
}

interface Content {
  readonly bytes: string
  /** On the wire. */
  readonly length: number
}

/** Undefined while it is not complete. */
function readContent(text: string, headers: Headers, closed: boolean): Content | undefined {
  if (headers.get('transfer-encoding')?.includes('chunked')) return readChunks(text)
  const announced = headers.get('content-length')
  if (announced === null) return closed ? { bytes: text, length: text.length } : undefined
  const length = Number(announced)
  return text.length < length ? undefined : { bytes: text.slice(0, length), length }
}

/** RFC 9112 §7.1, without trailer fields. */
function readChunks(text: string): Content | undefined {
  let bytes = ''
  let at = 0
  for (;;) {
    const [line, digits = ''] = /^([\da-f]+)[^\r\n]*\r\n/i.exec(text.slice(at)) ?? []
    if (line === undefined) return undefined
    const start = at + line.length
    const size = Number.parseInt(digits, 16)
    at = start + size + 2
    if (at > text.length) return undefined
    if (size === 0) return { bytes, length: at }
    bytes += text.slice(start, start + size)
  }
}
