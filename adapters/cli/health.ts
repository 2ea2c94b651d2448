import type { ApiHandler, ApiResponse } from '../../src/api.js'

/** Answers `GET /healthz`, outside the API: no key, no quota, no log line. */
export function withHealth(handler: ApiHandler): ApiHandler {
  return {
    ...handler,
    handle(request) {
      const { method, path } = request
      if (path !== '/healthz' || (method !== 'GET' && method !== 'HEAD'))
        return handler.handle(request)
      return health(method)
    },
  }
}

async function health(method: string): Promise<ApiResponse> {
  const { version } = await import('./version.js')
  const body = JSON.stringify({ status: 'ok', version: version() })
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': String(body.length),
    'Cache-Control': 'no-store',
  }
  return { status: 200, headers, body: method === 'HEAD' ? '' : body, about: {} }
}
