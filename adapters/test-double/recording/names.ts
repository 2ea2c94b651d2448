import type { ApiRequest } from '../../../src/protocol/api.js'
import {
  type ApiKey,
  bearerToken,
  type KeyRing,
  type KnownKey,
} from '../../../src/protocol/api-keys.js'
import { createSecrets, SHORTEST_SECRET } from '../../exchanges/hide-secrets.js'
import type { ReadRequest } from '../../exchanges/read-request.js'
import { redactedBody, redactedHeaders, redactorOf, WORD } from '../../exchanges/redact.js'
import { DEMO_KEYS } from '../demo-keys.js'

/** A key as a recording has it: a replay uses its name in place of the key. */
export type NamedKey = ApiKey & { readonly name: string }

/** Names for API keys, which no file may hold. */
export interface KeyNames {
  /** Names the keys of a ring. Those with a name keep it. */
  learn(ring: KeyRing): readonly NamedKey[]
  /** Names a key that was just added to a ring. */
  added(ring: KeyRing, key: string): NamedKey
  /** The same value with names in place of keys. */
  hide<T>(value: T): T
  /** A request with names in place of keys, and without other credentials. */
  request(request: ReadRequest, key: KnownKey | undefined): ReadRequest
}

export function createKeyNames(): KeyNames {
  /** By the key, or by the record of a key that is known by its digest until it is used. */
  const names = new Map<string | KnownKey, string>()
  let hideText = (text: string) => text

  const own: KeyNames = {
    learn(ring) {
      const plain = ring.keys().map(key => ({ key, record: ring.find(key) as KnownKey }))
      const records = plain.map(({ record }) => record)
      const digests = ring.list().filter(record => !records.includes(record))
      const all = [...plain, ...digests.map(record => ({ key: record, record }))]
      return all.map(({ key, record }) => named(key, record))
    },
    added(ring, key) {
      const record = ring.find(key)
      if (record) return named(key, record)
      const plain = ring.keys().map(other => ring.find(other))
      const added = ring.list().find(other => !names.has(other) && !plain.includes(other))
      return named(added as KnownKey, added as KnownKey)
    },
    hide: value => deep(value, hideText) as typeof value,
    request(request, key) {
      const token = bearerToken(request.headers['authorization'])
      if (key && token !== undefined && !names.has(token)) {
        names.set(token, nameOf(key))
        update()
      }
      const hidden = withText(request, hideText)
      // A credential that is not valid is not named, but it is one.
      if (!key) return withText(hidden, redactorOf({ request, keys: [] }, 'words'))
      const name = names.get(token ?? '') ?? ''
      return { ...hidden, headers: { ...hidden.headers, authorization: `Bearer ${name}` } }
    },
  }
  return own

  function named(key: string | KnownKey, record: KnownKey): NamedKey {
    return { name: nameOf(key), ...apiKeyOf(record) }
  }

  function nameOf(key: string | KnownKey): string {
    const found = names.get(key)
    if (found !== undefined) return found
    const name = typeof key === 'string' && isPublic(key) ? key : `recorded-key-${names.size + 1}`
    names.set(key, name)
    if (typeof key === 'string') update()
    return name
  }

  function update(): void {
    const texts = [...names].filter(
      (entry): entry is [string, string] => typeof entry[0] === 'string',
    )
    const byKey = new Map(texts.filter(([key, name]) => key !== name))
    const long = createSecrets([...byKey.keys()].filter(({ length }) => length >= SHORTEST_SECRET))
    const label = (key: string) => byKey.get(key) ?? ''
    hideText = text => {
      if (byKey.size === 0) return text
      return long.hide(text, label).replace(WORD, word => byKey.get(word) ?? word)
    }
  }
}

/** Demo keys are no secret, nor are names of an earlier recording. */
function isPublic(key: string): boolean {
  return Object.hasOwn(DEMO_KEYS, key) || /^recorded-key-\d+$/.test(key)
}

function apiKeyOf({ id, plan, policy, expires }: KnownKey): ApiKey {
  return {
    id,
    plan,
    ...(plan === 'enterprise' && { limits: policy }),
    ...(expires !== undefined && { expires }),
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
    body: body === undefined ? undefined : redactedBody(body, replace),
  }
}

function namedHeaders(
  headers: Readonly<Record<string, string>>,
  replace: (text: string) => string,
): ApiRequest['headers'] {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [replace(name), value]))
}

/** Names of fields stay, as they are ours; so do the ids of keys, which may be equal to them. */
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

const IDS = ['id', 'key', 'scope', 'usage']
