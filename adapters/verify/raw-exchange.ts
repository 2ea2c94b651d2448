import type { Socket } from 'node:net'
import type { RawCall, RawExchange, Reply } from './check.js'
import { codeOf, LONGEST_BODY, NoReply } from './no-reply.js'

export interface RawOptions {
  readonly url: URL
  readonly text: string
  readonly padding: RawCall['padding']
  readonly methods: readonly string[]
  /** For the whole exchange. */
  readonly timeoutMs: number
  /** The request in words. */
  readonly sent: string
}

/**
 * Writes bytes as they are, right or wrong, and reads the responses.
 *
 * @throws NoReply if no connection can be opened, or it is reset before a response
 */
export async function exchangeBytes(options: RawOptions): Promise<RawExchange> {
  const { url, text, padding, methods, timeoutMs, sent } = options
  const socket = await open(url)
  let received = ''
  let closed = false
  let written = padding === undefined

  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => end(), timeoutMs)
    const end = (error?: Error) => {
      clearTimeout(timer)
      socket.destroy()
      const { replies, rest } = readReplies(received, methods, closed, sent)
      // What was received before a reset still counts.
      if (error && replies.length === 0) reject(new NoReply(sent, codeOf(error)))
      else resolve({ replies, rest, closed, written })
    }
    const isComplete = () =>
      readReplies(received, methods, false, sent).replies.length >= methods.length
    socket.setEncoding('latin1')
    socket.on('data', chunk => {
      received += chunk
      if (received.length > LONGEST_BODY) return end(new LongResponse())
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
    socket.on('connect', async () => {
      socket.write(text, 'latin1')
      if (padding) written = await writePadding(socket, padding)
    })
  })
}

class LongResponse extends Error {
  readonly code = 'more than 2 MiB'
}

/** Spaces, as fast as the server reads them. Whether it read them all. */
async function writePadding(
  socket: Socket,
  { bytes, then }: NonNullable<RawCall['padding']>,
): Promise<boolean> {
  const piece = Buffer.alloc(65_536, ' ')
  let resume = () => {}
  socket.on('drain', () => resume())
  socket.on('close', () => resume())
  for (let left = bytes; left > 0; left -= piece.length) {
    if (socket.destroyed) return false
    if (socket.write(piece.subarray(0, left))) continue
    await new Promise<void>(resolve => {
      resume = resolve
    })
  }
  return !socket.destroyed && socket.write(then)
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

/** Longer than any server's. */
const LONGEST_HEAD = 262_144

function readReply(
  text: string,
  method: string,
  closed: boolean,
  sent: string,
): { reply: Reply; rest: string } | undefined {
  const found = readHead(text)
  if (!found) return undefined
  const { head, status, rest } = found
  const headers = readHeaders(head)
  const isEmpty = method === 'HEAD' || status === 204 || status === 304
  const content = isEmpty ? { bytes: '', length: 0 } : readContent(rest, headers, closed)
  if (!content) return undefined
  const body = Buffer.from(content.bytes, 'latin1').toString()
  return {
    reply: { sent, status, headers, body },
    rest: rest.slice(content.length),
  }
}

/** RFC 9110 §15.2: interim responses precede the real one. */
function readHead(text: string): { head: string; status: number; rest: string } | undefined {
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0 || end > LONGEST_HEAD) return undefined
    const head = rest.slice(0, end)
    const [, digits] = /^HTTP\/1\.[01] (\d{3})/.exec(head) ?? []
    if (digits === undefined) return undefined
    rest = rest.slice(end + 4)
    const status = Number(digits)
    if (status >= 200) return { head, status, rest }
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
