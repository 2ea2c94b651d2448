import { curlOf } from '../../verdict/log/copy-as-curl.js'
import { fetchCodeOf } from '../../verdict/log/copy-as-fetch.js'
import { errorOf, textOf } from '../../verdict/log/exchange.js'
import type { HarSource } from '../../verdict/log/har.js'
import { entryOf } from '../../verdict/log/log-entry.js'
import { type Redact, redactedBody, redactedHeaders, redactorOf } from '../../verdict/log/redact.js'
import type { Kept, WatchedWorld } from './activity.js'
import { hintsOf } from './hints.js'

export type Listed = ReturnType<typeof listedOf>
export type ExchangeDetail = ReturnType<typeof detailOf>
export type Side = ReturnType<typeof sideOf>

export function listedOf(kept: Kept, world: WatchedWorld) {
  const redact = redactFor(kept, world)
  const { n, second, connection, request, response } = kept
  const { message } = errorOf(response)
  const entry = entryOf(kept, redact)
  const hasKey = request.headers['authorization'] !== undefined
  return {
    n,
    second,
    /** Number in the journal of a test double. */
    journal: response.about?.journal ?? null,
    client: redact(request.headers['user-agent'] ?? ''),
    /** Id of the API key, or what stands in its place. */
    sender: entry.keyId ?? (entry.code === 'unauthorized' && hasKey ? 'invalid key' : 'no key'),
    connection,
    ...entry,
    message: message === null ? null : redact(message),
    hints: hintsOf(kept, redact),
  }
}

export function detailOf(kept: Kept, world: WatchedWorld, origin: string) {
  const { method, url: target, requestBody, body, ...source } = archivedOf(kept, world, origin)
  const { authorization = '' } = kept.request.headers
  const [, key = ''] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  const headers = { ...source.requestHeaders, ...(world.isPublicKey(key) && { authorization }) }
  const own = Object.entries(headers).filter(([name]) => !ADDED_BY_CLIENTS.test(name))
  const again = { method, target, headers: Object.fromEntries(own), body: requestBody }
  return {
    ...listedOf(kept, world),
    request: sideOf(headers, textOf(requestBody)),
    response: sideOf(source.headers, body),
    address: kept.request.client ?? null,
    programs: {
      curl: curlOf(again, origin, true),
      fetch: fetchCodeOf(again, origin),
    },
  }
}

/** An exchange for an archive: whole bodies, no keys. */
export function archivedOf(kept: Kept, world: WatchedWorld, origin: string) {
  const { request, response, at, durationMs } = kept
  const redact = redactFor(kept, world)
  const { method, path, query, keyId, status } = entryOf(kept, redact)
  return {
    at: at - durationMs,
    answeredAt: status === null ? null : at,
    keyId,
    method,
    url: path + (query && `?${query}`),
    status,
    requestHeaders: redactedHeaders(request.headers, redact),
    headers: redactedHeaders(response.headers, redact),
    fault: status === null ? 'hang' : null,
    connection: null,
    origin,
    requestBody: redactedBody(request.body, redact),
    body: redact(response.body),
  } as const satisfies HarSource
}

/** Redacts keys that were valid at the time, and those valid now. */
function redactFor({ request, keys }: Kept, world: WatchedWorld): Redact {
  const lists = new Set([keys, world.secrets()])
  const redactors = [...lists].map(keys => redactorOf({ request, keys }, 'words'))
  return text => redactors.reduce((shown, redact) => redact(shown), text)
}

const ADDED_BY_CLIENTS =
  /^(sec-.*|accept|accept-encoding|accept-language|cache-control|connection|content-length|dnt|origin|pragma|priority|referer|user-agent)$/

const MAX_BODY = 64 * 1024

function sideOf(headers: Readonly<Record<string, string>>, body: string) {
  return {
    headers: Object.entries(headers),
    body: body.slice(0, MAX_BODY),
    /** Number of characters cut from the body. */
    omitted: Math.max(0, body.length - MAX_BODY),
  }
}
