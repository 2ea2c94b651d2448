import { fetchCodeOf } from '../exchanges/code.js'
import { curlOf } from '../exchanges/curl.js'
import { entryOf } from '../exchanges/entry.js'
import { messageOf, textOf } from '../exchanges/exchange.js'
import type { HarSource } from '../exchanges/har.js'
import { type Redact, redactedBody, redactedHeaders, redactorOf } from '../exchanges/redact.js'
import { type Kept, secretKeysOf } from './activity.js'
import { hintsOf } from './hints.js'
import type { ExchangeDetail, Listed, Side } from './messages.js'
import type { ConsoleWorld } from './options.js'

export function listedOf(kept: Kept, world: ConsoleWorld): Listed {
  const redact = redactFor(kept, world)
  const message = messageOf(kept.response)
  return {
    n: kept.n,
    journal: kept.response.about?.journal ?? null,
    client: redact(
      [kept.request.client, kept.request.headers['user-agent']].filter(Boolean).join(', '),
    ),
    ...entryOf(kept, redact),
    message: message === null ? null : redact(message),
    hints: hintsOf(kept, redact),
  }
}

/** @param origin where the API is, for the programs */
export function detailOf(kept: Kept, world: ConsoleWorld, origin: string): ExchangeDetail {
  const { method, url: target, requestBody, body, ...source } = archivedOf(kept, world, origin)
  const headers = withPublicKey(source.requestHeaders, kept, world)
  const own = Object.entries(headers).filter(([name]) => !ADDED_BY_CLIENTS.test(name))
  const again = { method, target, headers: Object.fromEntries(own), body: requestBody }
  return {
    ...listedOf(kept, world),
    request: sideOf(headers, textOf(requestBody)),
    response: sideOf(source.headers, body),
    programs: {
      curl: curlOf(again, origin, { print: '-i', separator: ' \\\n  ', isLoose: true }),
      fetch: fetchCodeOf(again, origin),
    },
  }
}

/** For an archive, with whole bodies and without any key. */
export function archivedOf(kept: Kept, world: ConsoleWorld, origin: string) {
  const { request, response, at, ms } = kept
  const redact = redactFor(kept, world)
  const { method, path, query, key, status } = entryOf(kept, redact)
  return {
    at: at - (ms ?? 0),
    answeredAt: status === null ? null : at,
    key,
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

/** Redacts the keys that were valid then, and those that are valid now. */
function redactFor({ request, keys }: Kept, world: ConsoleWorld): Redact {
  const lists = new Set([keys, secretKeysOf(world)])
  const redactors = [...lists].map(keys => redactorOf({ request, keys }, 'words'))
  return text => redactors.reduce((shown, redact) => redact(shown), text)
}

function withPublicKey(
  redacted: Record<string, string>,
  { request }: Kept,
  { isPublicKey }: ConsoleWorld,
): Record<string, string> {
  const { authorization = '' } = request.headers
  const [, key = ''] = /^bearer +(\S+)$/i.exec(authorization) ?? []
  return isPublicKey(key) ? { ...redacted, authorization } : redacted
}

/** Headers that no one writes: browsers and `fetch` send them by themselves. */
const ADDED_BY_CLIENTS =
  /^(sec-.*|accept|accept-encoding|accept-language|cache-control|connection|content-length|dnt|origin|pragma|priority|referer|user-agent)$/

const MAX_BODY = 64 * 1024

function sideOf(headers: Readonly<Record<string, string>>, body: string): Side {
  return {
    headers: Object.entries(headers),
    body: body.slice(0, MAX_BODY),
    omitted: Math.max(0, body.length - MAX_BODY),
  }
}
