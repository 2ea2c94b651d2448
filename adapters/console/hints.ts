import { distance, nearestFirst } from '../../src/lib/nearest.js'
import { type Operation, PET_STATUSES } from '../../src/pets/specification.js'
import type { ApiResponse } from '../../src/protocol/api.js'
import { unknownNames } from '../exchanges/exchange.js'
import type { ReadRequest } from '../exchanges/read-request.js'
import type { Redact } from '../exchanges/redact.js'

/** An exchange, and how to show its texts. */
export interface Hinted {
  readonly request: ReadRequest
  readonly response: ApiResponse
  readonly redact: Redact
  /** Keys that the page may show. */
  readonly publicKeys: readonly string[]
}

/**
 * What the sender of a request probably meant: unknown names, which the API ignores, and texts close to
 * one that it knows. What it would have got, but for shadow mode. Empty for most requests.
 */
export function hintsOf({ request, response, redact, publicKeys }: Hinted): readonly string[] {
  const { operation, shadowed } = response.about ?? {}
  return [
    ...(shadowed ? [`Without shadow mode: 429 \`${shadowed}\`.`] : []),
    ...(operation ? namesIn(operation, request, redact) : pathIn(request, response, redact)),
    ...(response.status === 400 ? statusIn(request) : []),
    ...(response.status === 401 ? credentialIn(request, publicKeys) : []),
  ]
}

const MOST_NAMES = 5
/** Longer bodies and names are no typing mistakes, and comparing them would cost time. */
const LONGEST_BODY = 65_536
const LONGEST_NAME = 40

function namesIn(operation: Operation, request: ReadRequest, redact: Redact): readonly string[] {
  const isLong = (request.body?.length ?? 0) > LONGEST_BODY
  const parameters = NAMES[operation]
  const seen = unknownNames(operation, isLong ? { ...request, body: '' } : request, parameters)
  return [...new Set(seen)].slice(0, MOST_NAMES).map(name => {
    const isField = !isParameter(name, request.query)
    const subject = isField ? 'a field of an animal' : `a parameter of ${operation}`
    const meant = nearest(name, isField ? FIELDS : parameters)
    const shown = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name
    return `\`${redact(shown)}\` is not ${subject}${meant ? `; did you mean \`${meant}\`?` : ', and is ignored.'}`
  })
}

const FIELDS = ['name', 'categoryId', 'status']
/** `after` is one with pagination only, which a console does not know. */
const NAMES: Record<Operation, readonly string[]> = {
  listPets: ['limit', 'status', 'after'],
  createPet: [],
  getPet: [],
}

function isParameter(name: string, query: string): boolean {
  return new URLSearchParams(query).has(name)
}

/** `/v1/pet`, `/v1/Pets/7/`. */
function pathIn({ path }: ReadRequest, { status }: ApiResponse, redact: Redact): readonly string[] {
  const [, base = '', rest = ''] = /^(.*?\/v\d+|\/[^/]*)\/(.+)$/.exec(path) ?? []
  const [first = '', ...others] = rest.split('/').filter(part => part !== '')
  if (status !== 404 || nearest(first, ['pets']) === undefined) return []
  return [`Did you mean \`${redact([`${base}/pets`, ...others].join('/'))}\`?`]
}

function statusIn({ query, body }: ReadRequest): readonly string[] {
  const given = new URLSearchParams(query).get('status') ?? statusOf(body)
  const meant = given === undefined ? undefined : nearest(given, PET_STATUSES)
  return meant === undefined || meant === given ? [] : [`Did you mean the status \`${meant}\`?`]
}

function statusOf(body: ReadRequest['body']): string | undefined {
  if (body === undefined || body.length > LONGEST_BODY) return undefined
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return /"status"\s*:\s*"([^"\\]*)"/.exec(text)?.[1]
}

function credentialIn({ headers }: ReadRequest, publicKeys: readonly string[]): readonly string[] {
  const { authorization } = headers
  if (authorization === undefined) return []
  const [, key] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  if (key === undefined) return ['Send `Authorization: Bearer <API_KEY>`.']
  const meant = nearest(key, publicKeys)
  return meant === undefined ? [] : [`Did you mean the key \`${meant}\`?`]
}

/** Undefined when none is close. */
function nearest(typed: string, names: readonly string[]): string | undefined {
  if (typed.length > LONGEST_NAME) return undefined
  const [closest = ''] = nearestFirst(lower(typed), names.map(lower))
  const isClose =
    distance(lower(typed), closest) <= Math.max(1, closest.length / 3) ||
    letters(lower(typed)) === letters(closest)
  return isClose ? names.find(name => lower(name) === closest) : undefined
}

/** Equal when two letters have changed places. */
function letters(text: string): string {
  return [...text].sort().join('')
}

function lower(text: string): string {
  return text.toLowerCase()
}
