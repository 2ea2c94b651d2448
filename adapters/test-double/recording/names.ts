import {
  type ApiKey,
  bearerToken,
  type KeyRing,
  type KnownKey,
} from '../../../src/protocol/api-keys.js'
import type { ApiRequest } from '../../../src/protocol/api-request.js'
import { hiderOf, SHORTEST_SECRET } from '../../verdict/log/hide-secrets.js'
import type { ReadRequest } from '../../verdict/log/read-request.js'
import {
  REDACTED,
  redactedBody,
  redactedHeaders,
  redactorOf,
  WORD,
} from '../../verdict/log/redact.js'
import { DEMO_KEYS } from '../demo-keys.js'

/** A key as recorded: a replay uses its name as the key. */
export type NamedKey = ApiKey & { readonly name: string }

export type KeyNames = ReturnType<typeof createKeyNames>

/** Names API keys, which no file may hold. @param tokens secrets without names */
export function createKeyNames(tokens: readonly string[] = []) {
  const names = new Map<KnownKey, string>()
  /** By key. A key that is known by its digest is added when it is used. */
  const byKey = new Map<string, string>()
  let hideText = hider()

  return {
    learn,
    added(ring: KeyRing): NamedKey {
      const before = new Set(names.keys())
      learn(ring)
      return named(ring.list().find(record => !before.has(record)) as KnownKey)
    },
    hide: <T>(value: T) => deep(value, hideText) as T,
    /** Replaces keys by their names, and redacts other credentials. */
    request(request: ReadRequest, key: KnownKey | undefined): ReadRequest {
      const token = bearerToken(request.headers['authorization']) ?? ''
      if (key && !byKey.has(token)) nameKey(key, token)
      const hidden = withText(request, hideText)
      // Redact invalid credentials too.
      if (!key) return withText(hidden, redactorOf({ request, keys: [] }, 'words'))
      const authorization = `Bearer ${names.get(key)}`
      return { ...hidden, headers: { ...hidden.headers, authorization } }
    },
  }

  function learn(ring: KeyRing): readonly NamedKey[] {
    for (const key of ring.keys()) {
      const record = ring.find(key) as KnownKey
      const name = byKey.get(key)
      if (name === undefined) nameKey(record, key)
      else names.set(record, name)
    }
    return ring.list().map(named)
  }

  function named(record: KnownKey): NamedKey {
    const name = names.get(record) ?? `recorded-key-${names.size + 1}`
    names.set(record, name)
    return { name, ...apiKeyOf(record) }
  }

  function nameKey(record: KnownKey, key: string): void {
    if (isPublic(key)) names.set(record, key)
    byKey.set(key, named(record).name)
    hideText = hider()
  }

  function hider(): (text: string) => string {
    const named = [...byKey].filter(([key, name]) => key !== name)
    const hidden = new Map([...tokens.map(token => [token, REDACTED] as const), ...named])
    const hide = hiderOf([...hidden.keys()].filter(({ length }) => length >= SHORTEST_SECRET))
    const label = (secret: string) => hidden.get(secret) ?? ''
    return text => hide(text, label).replace(WORD, word => hidden.get(word) ?? word)
  }
}

/** Demo keys are no secret, nor are names of an earlier recording. */
function isPublic(key: string): boolean {
  return Object.hasOwn(DEMO_KEYS, key) || /^recorded-key-\d+$/.test(key)
}

function apiKeyOf({ id, plan, limits, expiresAt }: KnownKey): ApiKey {
  return {
    id,
    plan,
    ...(plan === 'enterprise' && { limits }),
    ...(expiresAt !== undefined && { expiresAt }),
  } as ApiKey
}

function withText(request: ReadRequest, replace: (text: string) => string): ReadRequest {
  const { body, headers } = request
  return {
    ...request,
    method: replace(request.method),
    path: replace(request.path),
    query: replace(request.query),
    headers: namedHeaders(redactedHeaders(headers, replace), replace),
    body: body && redactedBody(body, replace),
  }
}

function namedHeaders(
  headers: Readonly<Record<string, string>>,
  replace: (text: string) => string,
): ApiRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [replace(name), value]))
}

/** Leaves the names of fields, which are ours, and the ids of keys, which may equal them. */
function deep(value: unknown, replace: (text: string) => string): unknown {
  if (typeof value === 'string') return replace(value)
  if (Array.isArray(value)) return value.map(item => deep(item, replace))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, field]) => {
    if (IDS.includes(name)) return [name, field]
    return [name, HEADERS.includes(name) ? headersOf(field, replace) : deep(field, replace)]
  })
  return Object.fromEntries(entries)
}

/** Headers may have any name. */
function headersOf(value: unknown, replace: (text: string) => string): unknown {
  const headers = deep(value, replace) as Readonly<Record<string, string>>
  return typeof headers === 'object' && headers !== null ? namedHeaders(headers, replace) : headers
}

const HEADERS = ['headers', 'requestHeaders']

const IDS = ['id', 'keyId', 'scope', 'usage']
