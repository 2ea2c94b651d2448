import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { type Int64, isInt64 } from '../../../src/lib/int64.js'
import { parseJson, toJson } from '../../../src/lib/json.js'

/** Choices that the specification leaves to the server. */
export interface Choices {
  readonly apiKeys: readonly string[]
  readonly clock: () => number
  /** The limits of each response, and the rejection. @default no headers */
  readonly limits?: (key: string, now: number) => Count
  /** Of the 429. @default seconds */
  readonly retryAfter?: (seconds: number, now: number) => string
  /** @default 1 */
  readonly firstId?: bigint
  /** @default oldest first */
  readonly newestFirst?: boolean
  /** Of an animal without one. @default none */
  readonly defaultStatus?: string
  /** @default any */
  readonly categories?: readonly number[]
  /** Refuses what could be ignored: other members, long names, limits and statuses out of range. */
  readonly strict?: boolean
  /** How long reads do not show a new animal, in ms. @default 0 */
  readonly lagMs?: number
  /** Spaces of the JSON. @default none */
  readonly indent?: number
}

export interface Count {
  readonly limit: number
  /** Below 0 the request is rejected. */
  readonly remaining: number
  /** In ms since the epoch. */
  readonly reset: number
}

interface Pet {
  readonly id: Int64
  readonly name: string
  readonly categoryId: Int64
  readonly status?: string | undefined
}

type Answer = readonly [status: number, body: unknown]

const STATUSES = ['available', 'pending', 'sold']
const LARGEST_BODY = 300_000

/** The API once more, written from the specification and not from our own code. */
export function plainServer(choices: Choices): RequestListener {
  const stored: { readonly pet: Pet; readonly shownAt: number }[] = []
  const shown = () =>
    stored.filter(({ shownAt }) => shownAt <= choices.clock()).map(({ pet }) => pet)
  let nextId = choices.firstId ?? 1n

  return async (request, response) => {
    const now = choices.clock()
    response.setHeader('Date', new Date(now).toUTCString())
    const key = /^bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (key === undefined || !choices.apiKeys.includes(key)) {
      request.resume()
      const stranger = choices.limits?.(request.socket.remoteAddress ?? '', now)
      if (stranger) announce(response, stranger)
      return send(response, refusal(401, 'Who are you?'))
    }
    const count = choices.limits?.(key, now)
    if (count) announce(response, count)
    if (count && count.remaining < 0) {
      request.resume()
      const seconds = Math.ceil((count.reset - now) / 1000)
      const retryAfter = choices.retryAfter?.(seconds, now) ?? String(seconds)
      response.setHeader('Retry-After', retryAfter)
      return send(response, refusal(429, 'Slow down.'))
    }
    send(response, await answer(request, response))
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<Answer> {
    const [path = '', query = ''] = (request.url ?? '').replace(/^http:\/\/[^/]+/, '').split('?')
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead) request.resume()
    // Any unreserved character may be encoded, and the list is asked for so.
    if (path === '/v1/pets' && isRead) return list(new URLSearchParams(query))
    if (path === '/v1/pets' && request.method === 'POST') return create(request)
    const id = /^\/v1\/pets\/(-?\d{1,19})$/.exec(path)?.[1]
    if (id !== undefined) response.setHeader('Sunset', 'Thu, 05 Dec 2030 23:59:59 GMT')
    const pet = isRead ? shown().find(one => String(one.id) === id) : undefined
    request.resume()
    return pet ? [200, pet] : refusal(404, 'Nothing is here.')
  }

  function list(query: URLSearchParams): Answer {
    const given = query.get('limit')
    const limit = given === null ? 20 : /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN
    const status = query.get('status')
    if (choices.strict) {
      const isKnown = [...query.keys()].every(name => name === 'limit' || name === 'status')
      const isFit = limit >= 1 && limit <= 100 && (status === null || STATUSES.includes(status))
      if (!isKnown || !isFit) return refusal(400, 'The query makes no sense.')
    }
    const found = shown().filter(pet => status === null || pet.status === status)
    if (choices.newestFirst) found.reverse()
    return [200, found.slice(0, Math.max(1, Math.min(limit || 20, 100)))]
  }

  async function create(request: IncomingMessage): Promise<Answer> {
    const bytes = await read(request)
    if (!bytes) return refusal(413, 'That is too much.')
    const sent = await parse(bytes)
    if (!sent) return refusal(400, 'A JSON object is needed.')
    const { name, categoryId, status = choices.defaultStatus, ...others } = sent
    const isFit =
      typeof name === 'string' &&
      isInt64(categoryId) &&
      (status === undefined || STATUSES.includes(status as string)) &&
      (choices.categories?.includes(Number(categoryId)) ?? true)
    const isTooMuch = Object.keys(others).length > 0 || String(name).length > 100
    if (!isFit || (choices.strict && isTooMuch)) return refusal(400, 'This is no animal.')
    const pet = { status: status as string | undefined, categoryId, name, id: nextId++ }
    const shortest = BigInt.asIntN(53, pet.id) === pet.id ? Number(pet.id) : pet.id
    const shownAt = choices.clock() + (choices.lagMs ?? 0)
    stored.push({ pet: { ...pet, id: shortest }, shownAt })
    return [201, { ...pet, id: shortest }]
  }

  function send(response: ServerResponse, [status, value]: Answer): void {
    const json = toJson(value)
    const body = choices.indent ? json.replaceAll('","', `",${' '.repeat(choices.indent)}"`) : json
    if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(body)
  }
}

/** Undefined if it is too long. */
async function read(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size <= LARGEST_BODY) chunks.push(chunk)
  }
  return size > LARGEST_BODY ? undefined : Buffer.concat(chunks)
}

async function parse(bytes: Uint8Array): Promise<Readonly<Record<string, unknown>> | undefined> {
  try {
    const value = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    return Object.fromEntries(Object.entries(value))
  } catch {
    return undefined
  }
}

function announce(response: ServerResponse, { limit, remaining, reset }: Count): void {
  response.setHeader('X-RateLimit-Limit', limit)
  response.setHeader('X-RateLimit-Remaining', Math.max(0, remaining))
  response.setHeader('X-RateLimit-Reset', Math.ceil(reset / 1000))
}

function refusal(status: number, message: string): Answer {
  return [status, { message, status, code: `refused-${status}` }]
}
