import { ApiError, notFound, toApiError } from '../../../src/errors.js'
import { type Awaitable, chain } from '../../../src/lib/async.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { toAnswer } from '../../http/pages.js'
import { hasToken, tokenCookie } from '../../http/token.js'
import { createActivity } from './activity.js'
import { type ConsoleOptions, type ConsoleWorld, readConsoleOptions } from './console-options.js'
import { pageFile } from './page-files.js'
import { CONSOLE_PATH, type MonitoredApi, NOT_SHARED, runRoute } from './routes.js'
import { createStreams } from './streams.js'
import { policiesOf } from './world.js'

export interface ConsoleHandler extends ApiHandler {
  /** What opens the console: `/?token=<token>`. */
  readonly token: string
}

/**
 * Also serves the console: the page at `GET /` for browsers, and its data below `/_console`. The
 * latest requests and answers are kept in bounded memory.
 *
 * @throws OptionError
 */
export function withConsole(handler: ApiHandler, given: ConsoleOptions = {}): ConsoleHandler {
  const { control, worlds, token = crypto.randomUUID(), ...main } = readConsoleOptions(given)
  const apiPath = `${handler.basePath}/`
  const own = monitor({ ...main, policyOf: policiesOf(handler) })
  /** Worlds are recorded only while someone watches them. */
  const watched = new Map<string, MonitoredApi>()

  return {
    ...handler,
    token,
    connect: () => handler.connect?.() ?? { end() {} },
    handle(request) {
      const { path } = request
      if (isConsole(request)) return answer(request)
      if (path.startsWith(apiPath)) return recorded(request, own)
      const api = watched.get(WORLD.exec(path)?.[1] ?? '')
      if (api) return recorded(request, api)
      // A base URL without `/v1` is the commonest mistake.
      return chain(handler.handle(request), response =>
        response.status === 404 && !request.passesOn
          ? own.activity.record(request, undefined, response, null)
          : response,
      )
    },
  }

  function recorded(request: ApiRequest, { activity }: MonitoredApi): Awaitable<ApiResponse> {
    const start = activity.isWatched ? performance.now() : null
    const { body } = request
    // An unread body is read only by the handler.
    let read = typeof body === 'function' ? undefined : body
    const observed =
      typeof body === 'function'
        ? { ...request, body: () => chain(body(), bytes => (read = bytes)) }
        : request
    return chain(handler.handle(observed), response =>
      activity.record(request, read, response, start),
    )
  }

  async function answer(request: ApiRequest): Promise<ApiResponse> {
    const { method, path, query } = request
    try {
      const inAddress = new URLSearchParams(query).get('token')
      if (!hasToken(request, token, inAddress ?? ''))
        throw new ApiError('invalid_request', STRANGER, { status: 403 })
      if (path === '/' && inAddress !== null) return cookieAnswer(request, token)
      if (path === '/') return toAnswer(method, await pageFile('index.html'))
      const api = findApi(new URLSearchParams(query).get('world'))
      return await runRoute({ request, handler, api, control, worlds: [...worlds().keys()] })
    } catch (thrown) {
      const { code, message, status, headers } = toApiError(thrown)
      return toAnswer(method, {
        status,
        text: JSON.stringify({ code, message, status }),
        headers: { ...headers, ...NOT_SHARED },
      })
    }
  }

  function findApi(id: string | null): MonitoredApi {
    if (id === null) return own
    const known = worlds()
    for (const name of watched.keys()) if (!known.has(name)) watched.delete(name)
    const world = known.get(id)
    if (!world) throw notFound(`There is no world '${id}'.`)
    const api = watched.get(id) ?? monitor(world, () => watched.delete(id))
    watched.set(id, api)
    return api
  }
}

const STRANGER = 'Open the console at the address that the server printed: it ends in `?token=…`.'

/** Takes the token out of the address bar. Lax: a link in a chat may open the console, and no other page can use it. */
function cookieAnswer({ headers, mount = '' }: ApiRequest, token: string): ApiResponse {
  return {
    status: 303,
    headers: {
      Location: `${mount}/`,
      'Set-Cookie': `${tokenCookie(headers)}=${token}; Path=${mount}/; HttpOnly; SameSite=Lax`,
      'Cache-Control': 'no-store',
      'Referrer-Policy': 'no-referrer',
      'Content-Length': '0',
    },
    body: '',
  }
}

function monitor(world: ConsoleWorld, onUnwatched: () => void = () => {}): MonitoredApi {
  const activity = createActivity(world)
  return { world, activity, streams: createStreams(activity, world, onUnwatched) }
}

/** `GET /` is for browsers; a handler may answer it for programs. */
function isConsole({ method, path, headers }: ApiRequest): boolean {
  if (path.startsWith(CONSOLE_PATH)) return true
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return false
  return /\btext\/html\b/.test(headers['accept'] ?? '')
}

/** The API of a world. */
const WORLD = /^\/worlds\/([^/]+)\/(?!_control(?:$|\/))/
