import type { ApiRequest, ApiResponse } from '../../src/protocol/api.js'
import { hideSecrets, SHORTEST_SECRET } from '../exchanges/hide-secrets.js'

/** A request, its answer, when it was answered (store's clock, ms) and how long that took. */
export interface Exchange {
  readonly request: ApiRequest
  readonly response: ApiResponse
  readonly at: number
  /** Null when nobody measured it. */
  readonly ms: number | null
}

/** One line of a request log. It never contains an API key. */
export interface Entry {
  /** Ms since the Unix epoch, by the store's clock. */
  readonly at: number
  readonly method: string
  readonly path: string
  readonly query: string
  readonly operation: string | null
  /** Null for a request that is never answered. */
  readonly status: number | null
  /** The `code` of the Error body. */
  readonly code: string | null
  /** The id of the API key; null without a valid one. */
  readonly key: string | null
  readonly plan: string | null
  readonly limit: number | null
  readonly remaining: number | null
  /** Unix seconds. */
  readonly reset: number | null
  /** Seconds. */
  readonly retryAfter: number | null
  /** An injected fault lost the response. */
  readonly lost: boolean
  readonly ms: number | null
}

/** The valid API keys that are not to be shown. */
export type SecretKeys = () => readonly string[]

export function entryOf({ request, response, at, ms }: Exchange, keys: readonly string[]): Entry {
  const { status, headers, about, deliver } = response
  const redact = redactor(request, keys)
  return {
    at,
    method: redact(request.method),
    path: redact(request.path),
    query: redact(request.query),
    operation: about?.operation ?? null,
    status: status === 0 ? null : status,
    code: codeOf(response),
    key: about?.key?.id ?? null,
    plan: about?.key?.plan ?? null,
    limit: numberOf(headers['X-RateLimit-Limit']),
    remaining: numberOf(headers['X-RateLimit-Remaining']),
    reset: numberOf(headers['X-RateLimit-Reset']),
    retryAfter: numberOf(headers['Retry-After']),
    lost: deliver !== undefined && status !== 0,
    ms,
  }
}

/**
 * Redacts API keys in texts of a request: the value of its `Authorization` header, valid or not, and
 * the valid keys. Short ones are redacted as whole words only.
 */
export function redactor(
  { headers }: ApiRequest,
  keys: readonly string[],
): (text: string) => string {
  const presented = (headers['authorization'] ?? '').split(/[ ,]+/).filter(isCredential)
  const secrets = new Set([...presented, ...keys])
  const long = [...secrets].filter(({ length }) => length >= SHORTEST_SECRET)
  return text =>
    hideSecrets(text, long, () => REDACTED).replace(WORD, word =>
      secrets.has(word) || secrets.has(decoded(word)) ? REDACTED : word,
    )
}

export const REDACTED = '[key]'

function isCredential(word: string): boolean {
  return word !== '' && !/^bearer$/i.test(word)
}

/** What delimits a value in a path, a query, JSON or a header. */
const WORD = /[^\s/?&=#"'<>,;:{}()[\]]+/g

function decoded(word: string): string {
  if (!word.includes('%')) return word
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}

function codeOf({ status, body }: ApiResponse): string | null {
  if (status < 400) return null
  return /^\{"code":"([a-z_]+)"/.exec(body)?.[1] ?? null
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null
}
