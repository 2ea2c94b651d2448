import { ApiError, notFound, toApiError } from '../../../src/api-error.js'
import { type Awaitable, chain } from '../../../src/lib/async.js'
import { settingsOf } from '../../../src/lib/check-options.js'
import type { ApiHandler, ApiRequest, ApiResponse } from '../../../src/protocol/api-request.js'
import { toAnswer, toErrorAnswer } from '../../http/extra-pages.js'
import { hasToken } from '../../http/token.js'
import { secretsOf } from '../../verdict/log/redact.js'
import { createActivity } from './activity.js'
import { CONSOLE_OPTIONS, type ConsoleOptions, type ConsoleWorld } from './console-options.js'
import { pageFile } from './page-files.js'
import { CONSOLE_PATH, type MonitoredApi, runRoute } from './routes.js'
import { createStreams } from './streams.js'
import { limitsOf } from './world-state.js'

export interface ConsoleHandler extends ApiHandler {
  /** Opens the console at `/#token=<token>`. */
  readonly token: string
}

/**
 * Adds the console: the page at `GET /` for browsers, and its data below `/_console`. The latest
 * exchanges are kept in bounded memory.
 * @throws OptionError
 *
 * @example
 * import { withConsole } from 'animal-adoption-store/console'
 * import { listen } from 'animal-adoption-store/http'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const handler = withConsole(createTestDouble())
 * const server = await listen(handler, { port: 0 })
 * await server.close()
 */
export function withConsole(handler: ApiHandler, given: ConsoleOptions = {}): ConsoleHandler {
  const settings = settingsOf(CONSOLE_OPTIONS, given)
  const { control, worlds, token = crypto.randomUUID(), ...main } = settings
  const apiPath = `${handler.basePath}/`
  const own = monitor({ ...main, limitsOf: limitsOf(handler) }, token)
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
      const start = performance.now()
      return chain(handler.handle(request), response =>
        response.status === 404 && !request.passesOn
          ? own.activity.record(request, undefined, response, start)
          : response,
      )
    },
  }

  function recorded(request: ApiRequest, { activity }: MonitoredApi): Awaitable<ApiResponse> {
    const start = performance.now()
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
      const file = PAGE_FILES.get(path)
      if (file && method !== 'POST') return toAnswer(method, await pageFile(file))
      if (!hasToken(request, token))
        throw new ApiError('invalid_request', STRANGER, { status: 403 })
      const api = findApi(new URLSearchParams(query).get('world'))
      return await runRoute({ request, handler, api, control, worlds: [...worlds().keys()] })
    } catch (thrown) {
      return toErrorAnswer(method, toApiError(thrown))
    }
  }

  function findApi(id: string | null): MonitoredApi {
    if (id === null) return own
    const known = worlds()
    for (const name of watched.keys()) if (!known.has(name)) watched.delete(name)
    const world = known.get(id)
    if (!world) throw notFound(`There is no world '${id}'.`)
    const api = watched.get(id) ?? monitor(world, token, () => watched.delete(id))
    watched.set(id, api)
    return api
  }
}

/** The page is public; its data are not. */
const PAGE_FILES = new Map<string, 'index.html' | 'page.js' | 'page.css'>([
  ['/', 'index.html'],
  [`${CONSOLE_PATH}page.js`, 'page.js'],
  [`${CONSOLE_PATH}page.css`, 'page.css'],
])

const STRANGER =
  'Send the token of the console as a bearer: the address that the server printed ends in `#token=…`.'

function monitor(given: ConsoleWorld, token: string, onUnwatched = () => {}): MonitoredApi {
  const secrets = secretsOf(given.apiKeys, [token], key => !given.isPublicKey(key))
  const world = { ...given, secrets }
  const activity = createActivity(world)
  return { world, activity, streams: createStreams(activity, world, onUnwatched) }
}

/** Matches `GET /` of browsers only; a handler may answer programs there. */
function isConsole({ method, path, headers }: ApiRequest): boolean {
  if (path.startsWith(CONSOLE_PATH)) return true
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return false
  return /\btext\/html\b/.test(headers['accept'] ?? '')
}

const WORLD = /^\/worlds\/([^/]+)\/(?!_control(?:$|\/))/
