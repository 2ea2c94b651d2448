import type { Exchange } from '../../../adapters/test-double/index.js'
import { isCollection, petIdOf } from '../model/requests.js'
import type { WireRequest, WireResponse } from '../network.js'

/** What a journal says of one request. */
const FIELDS = [
  ...['n', 'at', 'answeredAt', 'key', 'operation', 'method', 'path'],
  ...['status', 'code', 'requestBody', 'body', 'fault'],
] as const
export type Entry = { -readonly [Field in (typeof FIELDS)[number]]: Exchange[Field] }
export type JournalModel = ReturnType<typeof createJournal>

/** What a double notes of requests, and what of it is kept. */
export function createJournal(capacity: number, begin: readonly Entry[] = [], last = 0, lost = 0) {
  let entries = begin.map(entry => ({ ...entry }))
  let received = last
  let dropped = lost
  let counted = entries.length

  return {
    arrive({ method, target: url, body }: WireRequest, key: string | null, at: number): Entry {
      const [path = ''] = hidden(url).split('?', 1)
      const about = { key, method, path, operation: operationOf(method, url) ?? null }
      const open = { answeredAt: null, status: null, code: null, body: null, fault: null }
      const entry: Entry = {
        n: ++received,
        at,
        ...about,
        ...open,
        requestBody: hidden(body) || null,
      }
      entries.push(entry)
      counted++
      if (entries.length <= capacity) return entry
      entries.shift()
      dropped++
      return entry
    },
    clear(): void {
      entries = []
      dropped = 0
      counted = 0
    },
    copy: () => createJournal(capacity, entries, received, dropped),
    dropped: () => dropped,
    /** How many requests a report is about. */
    counted: () => counted,
    shown: () => entries.map(shownEntry),
  }
}

/** Without API keys, also where an escape hides them. */
function hidden(text = ''): string {
  return text.replaceAll(/key(-|%2D)\d+-of-[\w-]+/g, 'REDACTED')
}

export function answer(entry: Entry, { status, body }: WireResponse, answeredAt: number): void {
  const code = status < 400 ? null : (/^\{"code":"(\w+)".*\}$/s.exec(body)?.[1] ?? null)
  Object.assign(entry, { status, body: hidden(body) || null, code, answeredAt })
}

export function shownEntry(entry: Entry): string {
  return JSON.stringify(FIELDS.map(field => entry[field]))
}

export function operationOf(method: string, target: string): Exchange['operation'] | undefined {
  if (petIdOf({ method, target }) !== undefined) return 'getPet'
  if (!isCollection({ target })) return undefined
  return /^(GET|HEAD)$/.test(method) ? 'listPets' : method === 'POST' ? 'createPet' : undefined
}
