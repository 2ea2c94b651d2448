import { toApiError } from './errors.js'
import { isPlain, petToJson } from './json.js'
import type { Pet } from './model.js'
import type { Headers } from './response-headers.js'
import { utf8Length } from './utf8.js'

/** A result or an error as it goes over the wire, without the headers that all responses carry. */
export interface Representation {
  readonly status: number
  readonly content?: Content
  readonly headers?: Headers
}

/** JSON text, with its length in UTF-8 bytes. */
export interface Content {
  readonly text: string
  readonly bytes: number
}

export function petRepresentation(status: 200 | 201, pet: Pet): Representation {
  const text = petToJson(pet)
  // Only the name can hold anything but ASCII.
  const content = isPlain(pet.name) ? { text, bytes: text.length } : measured(text)
  return { status, content }
}

/** Storages may return the same frozen page again: it cannot change, so its text is kept. */
const keptPages = new WeakMap<readonly Pet[], Representation>()

export function pageRepresentation(page: readonly Pet[]): Representation {
  const kept = keptPages.get(page)
  if (kept) return kept
  const written = { status: 200, content: measured(`[${page.map(petToJson).join(',')}]`) }
  if (Object.isFrozen(page)) keptPages.set(page, written)
  return written
}

/** Anything thrown, as the Error body of spec §2. */
export function errorRepresentation(thrown: unknown): Representation {
  const { code, message, status, headers } = toApiError(thrown)
  return { status, content: measured(JSON.stringify({ code, message, status })), headers }
}

function measured(text: string): Content {
  return { text, bytes: utf8Length(text) }
}
