import type { ApiHandler } from '../../src/api.js'

/** Answers `GET /healthz`, outside the API: no key, no quota, no log line. */
export function withHealth(handler: ApiHandler, version: string): ApiHandler {
  const body = JSON.stringify({ status: 'ok', version })
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    'Cache-Control': 'no-store',
  }
  return {
    ...handler,
    handle(request) {
      const { method, path } = request
      if (path !== '/healthz' || (method !== 'GET' && method !== 'HEAD'))
        return handler.handle(request)
      return { status: 200, headers, body: method === 'HEAD' ? '' : body, about: {} }
    },
  }
}
