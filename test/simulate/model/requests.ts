import type { WireRequest } from '../network.js'

/** An error that a request gets whatever is stored, by the rules alone. */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly words: readonly string[]
}

export interface Rules {
  readonly pagination: boolean
  readonly hasIdempotency: boolean
  readonly maxBodyBytes: number
  readonly sunsetAt: number | null
}

/** A path below which there is no API is not counted. */
export function isOutside({ target }: WireRequest): boolean {
  return !/^\/v1([/?]|$)/.test(target)
}

/** RFC 6750 §2.1, with the scheme in any case. */
export function tokenOf({ headers }: WireRequest): string | undefined {
  return /^bearer +(\S+)$/i.exec(headers['authorization'] ?? '')?.[1]
}

/** Of a GET or HEAD of one animal: its id as it is sent. */
export function petIdOf({
  method,
  target,
}: Pick<WireRequest, 'method' | 'target'>): string | undefined {
  const id = /^\/v1\/pets\/([^/?]+)(\?|$)/.exec(target)?.[1]
  return /^(GET|HEAD)$/.test(method) && id !== undefined ? decodeURIComponent(id) : undefined
}

export function isCollection({ target }: Pick<WireRequest, 'target'>): boolean {
  return /^\/v1\/pets(\?|$)/.test(target)
}

/** @param isKnown whether its API key is valid */
export function failureOf(
  request: WireRequest,
  isKnown: boolean,
  now: number,
  rules: Rules,
): Failure | undefined {
  const { method, target } = request
  const isRead = /^(GET|HEAD)$/.test(method)
  if (isOutside(request)) return failure(404, 'not_found', '/v1.')
  if (!isKnown) return failure(401, 'unauthorized', wrongCredential(request))
  if (isCollection(request)) {
    if (isRead) return queryFailure(queryOf(target), rules)
    if (method === 'POST') return createFailure(request, rules)
    return failure(405, 'method_not_allowed', method, 'GET, HEAD, POST')
  }
  if (!/^\/v1\/pets\/[^/?]+(\?|$)/.test(target)) return failure(404, 'not_found', 'resource')
  if (!isRead) return failure(405, 'method_not_allowed', method, 'GET, HEAD.')
  if (rules.sunsetAt !== null && now >= rules.sunsetAt) {
    const [day = ''] = new Date(rules.sunsetAt).toISOString().split('T')
    return failure(410, 'gone', `on ${day};`, 'GET /pets')
  }
  const id = petIdOf(request) as string
  const isId = /^[1-9]\d*$/.test(id) && Number.isSafeInteger(Number(id))
  return isId ? undefined : failure(404, 'not_found', 'pet')
}

/** The parameters, of which only the first `?` is not one. */
export function queryOf(target: string): URLSearchParams {
  return new URLSearchParams(/\?(.*)/.exec(target)?.[1]?.replace(/^\?/, '%3f'))
}

/** The key that an Idempotency-Key names: a token, or a string of printable ASCII. */
export function keyNameOf({ headers }: WireRequest): string | undefined {
  const given = headers['idempotency-key'] ?? ''
  const quoted = /^"((?:[^"\\]|\\.)*)"$/.exec(given)?.[1]?.replaceAll(/\\(.)/g, '$1')
  const name = quoted ?? (/[ "]/.test(given) ? '' : given)
  return /^[ -~]{1,255}$/.test(name) ? name : undefined
}

function queryFailure(given: URLSearchParams, { pagination }: Rules): Failure | undefined {
  const rules: Record<string, (text: string) => boolean> = {
    limit: text => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 100,
    status: text => STATUSES.includes(text),
    ...(pagination && { after: text => /^\d+$/.test(text) }),
  }
  for (const [name, accepts] of Object.entries(rules)) {
    const values = given.getAll(name)
    if (values.length > 1) return failure(400, 'invalid_request', `\`${name}\``, 'once')
    if (!values.every(accepts)) {
      return failure(400, 'invalid_request', `\`${name}\` must be`, BOUNDS[name] as string)
    }
  }
  return undefined
}

const STATUSES = ['available', 'pending', 'sold']
const BOUNDS: Readonly<Record<string, string>> = {
  limit: 'from 1 to 100',
  status: STATUSES.join(', '),
  after: 'at least 0',
}

function createFailure(request: WireRequest, rules: Rules): Failure | undefined {
  const { headers, body = '' } = request
  const { maxBodyBytes, hasIdempotency } = rules
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers
  // Whatever is wrong with half of it is said.
  if (request.isCut) return undefined
  if (hasIdempotency && headers['idempotency-key'] !== undefined && !keyNameOf(request)) {
    return failure(400, 'invalid_request', 'Idempotency-Key must')
  }
  if (Buffer.byteLength(body) > maxBodyBytes) {
    return failure(413, 'payload_too_large', ` ${maxBodyBytes} bytes`)
  }
  if (!/^(application\/json)?(;|$)/i.test(type)) {
    return failure(415, 'unsupported_media_type', 'must be application/json', `'${type}'`)
  }
  if (encoding !== 'identity') {
    return failure(415, 'unsupported_media_type', 'uncompressed', `'${encoding}'`)
  }
  const problems = problemsOf(body)
  return problems.length > 0 ? failure(400, 'invalid_request', problems.join('; ')) : undefined
}

function problemsOf(body: string): readonly string[] {
  if (body === '') return ['The body is missing']
  if (body.startsWith('[[') || !isJson(body)) return ['The body is not valid JSON']
  const pet = JSON.parse(body)
  if (typeof pet !== 'object' || pet === null || Array.isArray(pet)) {
    return ['The body must be a JSON object']
  }
  const category = BigInt(/"categoryId":(-?\d+)[,}]/.exec(body)?.[1] ?? 2n ** 63n)
  const isRight: Record<string, boolean> = {
    name: typeof pet.name === 'string',
    categoryId: BigInt.asIntN(64, category) === category,
    status: pet.status === undefined || STATUSES.includes(pet.status),
  }
  const wrong = Object.keys(isRight).filter(name => !isRight[name])
  return wrong.map(name => {
    const got = name === 'categoryId' && typeof pet[name] === 'string' ? ', got a string' : ''
    return `\`${name}\` ${pet[name] === undefined ? 'is required' : FIELDS[name] + got}`
  })
}

const FIELDS: Readonly<Record<string, string>> = {
  name: 'must be a string',
  categoryId: 'must be an integer from -9223372036854775808 to 9223372036854775807',
  status: `must be one of ${STATUSES.join(', ')}`,
}

function wrongCredential(request: WireRequest): string {
  const { authorization = '', 'x-api-key': other } = request.headers
  if (tokenOf(request)) return 'not valid'
  if (authorization === '') return other === undefined ? 'Send an API key' : 'not in X-API-Key'
  if (/^bearer/i.test(authorization)) return 'has no API key'
  return authorization.includes(' ') ? 'must have the scheme' : 'a space'
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function failure(status: number, code: string, ...words: readonly string[]): Failure {
  return { status, code, words }
}
