import type { ApiRequest, ApiResponse } from '../../../src/api.js'
import { readBody } from '../../../src/body.js'
import {
  ApiError,
  invalidRequest,
  methodNotAllowed,
  notFound,
  toApiError,
  unsupportedMediaType,
} from '../../../src/errors.js'
import { OptionError } from '../../../src/options.js'
import type { TestDouble } from '../double.js'
import { failure, respond } from './reply.js'
import { ROUTES } from './routes.js'
import type { Worlds } from './worlds.js'

/** A request for a command, and what it commands. */
export interface Command {
  readonly request: ApiRequest
  readonly double: TestDouble
  readonly maxBodyBytes: number
  /** Undefined within a world: worlds have none of their own. */
  readonly worlds: Worlds | undefined
}

/** Carries out one command. Never rejects: every failure is an Error body. */
export async function command(path: string, given: Command): Promise<ApiResponse> {
  const { request, maxBodyBytes } = given
  try {
    refuseStrangers(request)
    const [name = '', id] = path.split('/', 2)
    const methods = ROUTES.get(id === undefined ? name : `${name}/<id>`)
    if (!methods)
      throw notFound(`There is no such command; they are ${[...ROUTES.keys()].join(', ')}.`)
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (!run) throw methodNotAllowed(request.method, Object.keys(methods).join(', '))
    const body = method === 'GET' ? undefined : await readValue(request, maxBodyBytes)
    return respond(request.method, await run({ ...given, body, id: id ?? '' }))
  } catch (thrown) {
    const wrong = thrown instanceof OptionError || thrown instanceof RangeError
    return failure(request.method, wrong ? invalidRequest(thrown.message) : toApiError(thrown))
  }
}

/** A page of a browser can be made to send anywhere, but not with this Host header. */
function refuseStrangers({ client, headers }: ApiRequest): void {
  const here = client === undefined || LOOPBACK_ADDRESS.test(client)
  if (here && LOOPBACK_HOST.test(headers['host'] ?? '')) return
  throw new ApiError('invalid_request', 'Commands are taken from this machine only, by its name.', {
    status: 403,
  })
}

const LOOPBACK_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i
/** An IPv6 address comes as its network. */
const LOOPBACK_ADDRESS = /^(127\.\d+\.\d+\.\d+|0:0:0:0::\/64)$/

/** A form of a browser cannot say `application/json` without asking first. */
async function readValue(request: ApiRequest, maxBodyBytes: number): Promise<unknown> {
  if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw unsupportedMediaType('Commands need Content-Type: application/json, also without a body.')
  }
  const { body = '', headers } = request
  // A body that is announced too large is not there, and yet not missing.
  const none = body.length === 0 && !(Number(headers['content-length']) > 0)
  return none ? undefined : readBody(request, maxBodyBytes)
}
