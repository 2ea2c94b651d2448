import { DIGEST, type Sha256 } from '../../../src/protocol/api-keys.js'
import type { ApiRequest } from '../../../src/protocol/api-request.js'
import { hiderOf, SHORTEST_SECRET } from './hide-secrets.js'
import type { ReadRequest } from './read-request.js'

export const REDACTED = 'REDACTED'

/** Valid API keys, as a list or as property names. Immutable: changes need a new object. */
export type Keys = readonly string[] | Readonly<Record<string, unknown>>

/** A request with the keys valid at its time. It never leaves the process unredacted. */
export interface Captured {
  readonly request: ApiRequest
  readonly keys: Keys
  /** Computes SHA-256 in hex, to recognize words that are keys known by digest. */
  readonly sha256?: Sha256 | undefined
}

/** Returns secret keys and tokens; the same list while the keys are the same. */
export function secretsOf(
  keys: () => Keys,
  tokens: readonly string[],
  isSecret: (key: string) => boolean = () => true,
): () => Keys {
  let known: Keys | undefined
  let secrets: readonly string[] = []
  return () => {
    const now = keys()
    if (now !== known) secrets = [...namesOf(now).filter(isSecret), ...tokens]
    known = now
    return secrets
  }
}

export type Redact = (text: string) => string

/**
 * Redacts valid keys and the request's credential, valid or not. Short ones would match parts of
 * innocent words: they are shown, or redacted as whole words.
 */
export function redactorOf({ request, keys, sha256 }: Captured, short: 'shown' | 'words'): Redact {
  const valid = indexed(keys)
  const presented = presentedIn(request).filter(word => !valid.all.has(word))
  const hideOwn = hiderOf(presented.filter(isLong))
  const inPlace = (text: string) => hideOwn(valid.hideLong(text, label), label)
  if (short === 'shown') return inPlace
  let left = sha256 && valid.hasDigests ? MOST_DIGESTED : 0
  const isSecret = (word: string) =>
    valid.all.has(word) ||
    presented.includes(word) ||
    (left-- > 0 && valid.all.has(DIGEST + sha256?.(word)))
  return text =>
    inPlace(text).replace(WORD, word => (readingsOf(word).some(isSecret) ? REDACTED : word))
}

/** Maximum words of an exchange to hash, at one or two microseconds each. */
const MOST_DIGESTED = 100

/** Replaces the credential in each request header, and keeps the scheme. */
export function redactedHeaders(headers: ApiRequest['headers'], redact: Redact) {
  const redacted: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined) continue
    if (name === 'authorization') redacted[name] = withoutCredential(value)
    else redacted[name] = CREDENTIALS.includes(name) ? REDACTED : redact(value)
  }
  return redacted
}

/** Leaves bytes that are not UTF-8 unchanged. */
export function redactedBody(body: ReadRequest['body'], redact: Redact): Uint8Array | string {
  if (body === undefined || typeof body === 'string') return redact(body ?? '')
  const text = Array.from(body, byte => String.fromCharCode(byte)).join('')
  const redacted = redact(text)
  if (redacted === text) return body
  return Uint8Array.from(redacted, character => character.charCodeAt(0))
}

function withoutCredential(value: string): string {
  const [scheme = ''] = SCHEME.exec(value) ?? []
  return scheme === value ? value : scheme + REDACTED
}

export const CREDENTIALS = ['cookie', 'proxy-authorization', 'x-api-key']

function label(): string {
  return REDACTED
}

function isLong({ length }: string): boolean {
  return length >= SHORTEST_SECRET
}

/** Caches the index, as the same keys serve all requests until they change. */
const known = new WeakMap<Keys, ReturnType<typeof indexOf>>()

function indexed(keys: Keys): ReturnType<typeof indexOf> {
  const found = known.get(keys) ?? indexOf(namesOf(keys))
  known.set(keys, found)
  return found
}

function namesOf(keys: Keys): readonly string[] {
  return Array.isArray(keys) ? keys : Object.keys(keys)
}

function indexOf(keys: readonly string[]) {
  const hideLong = hiderOf(keys.filter(isLong))
  return { all: new Set(keys), hideLong, hasDigests: keys.some(key => key.startsWith(DIGEST)) }
}

/** Credentials have fewer words; looking further would only cost time. */
const MOST_WORDS = 8

function presentedIn({ headers }: ApiRequest): readonly string[] {
  const { authorization = '' } = headers
  const credential = authorization.replace(SCHEME, '')
  const words = credential.split(/[ ,]+/, MOST_WORDS).filter(word => !/^bearer$/i.test(word))
  return [credential.trim(), ...words].filter(word => word !== '')
}

const SCHEME = /^(?:Bearer|Basic|Token)(?: +|$)|^$/i

/** Words between the delimiters of paths, queries, JSON and headers. */
export const WORD = /[^\s/?&=#"'<>,;:{}()[\]]+/g

/** The word, decoded, and split after decoding, for `Bearer%20<key>` and `Bearer+<key>`. */
function readingsOf(word: string): readonly string[] {
  if (!/[%+]/.test(word)) return [word]
  const plain = decoded(word)
  return [...new Set([word, plain, ...plain.split('+').flatMap(part => part.match(WORD) ?? [])])]
}

export function decoded(word: string): string {
  try {
    return decodeURIComponent(word)
  } catch {
    return word
  }
}
