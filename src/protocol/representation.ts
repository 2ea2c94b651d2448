import { toApiError } from '../errors.js'
import { isPlain } from '../lib/json.js'
import { utf8Length } from '../lib/utf8.js'
import { petToJson } from '../pets/pet.js'
import type { Pet } from '../pets/schema.js'
import type { Headers } from './response-headers.js'

/** A result or an error as it goes over the wire, without the headers that all responses carry. */
export interface Representation {
  readonly status: number
  readonly content?: Content
  readonly headers?: Headers | undefined
}

/** JSON text, with its length in UTF-8 bytes. */
export interface Content {
  readonly text: string
  readonly bytes: number
  /** The same text in pieces, if it is long. */
  readonly pieces?: () => Iterable<string>
}

export function petRepresentation(status: 200 | 201, pet: Pet, headers?: Headers): Representation {
  const text = petToJson(pet)
  // Only the name can hold anything but ASCII.
  const content = isPlain(pet.name) ? { text, bytes: text.length } : measured(text)
  return { status, content, headers }
}

/** Storages may return the same frozen page again: it cannot change, so its text is kept. */
const keptPages = new WeakMap<readonly Pet[], Representation>()

export function pageRepresentation(page: readonly Pet[]): Representation {
  const kept = keptPages.get(page)
  if (kept) return kept
  const written = { status: 200, content: pageContent(page) }
  if (Object.isFrozen(page)) keptPages.set(page, written)
  return written
}

/** Anything thrown, as the Error body of spec §2. */
export function errorRepresentation(thrown: unknown): Representation {
  const { code, message, status, headers } = toApiError(thrown)
  return { status, content: measured(JSON.stringify({ code, message, status })), headers }
}

/** In UTF-16 units of names. */
const LONG_PAGE = 262_144

function pageContent(page: readonly Pet[]): Content {
  let length = 0
  for (const pet of page) length += pet.name.length
  if (length > LONG_PAGE) return longPageContent([...page])
  return measured(`[${page.map(petToJson).join(',')}]`)
}

/** Keeps the pets, not their text, which would pile up for slow clients. */
function longPageContent(pets: readonly Pet[]): Content {
  let bytes = 0
  for (const piece of pieces()) bytes += utf8Length(piece)
  return {
    bytes,
    pieces,
    get text() {
      return [...pieces()].join('')
    },
  }

  function* pieces(): Generator<string> {
    for (const [index, pet] of pets.entries()) yield (index === 0 ? '[' : ',') + petToJson(pet)
    yield ']'
  }
}

function measured(text: string): Content {
  return { text, bytes: utf8Length(text) }
}
