import { useEffect, useReducer, useRef } from 'preact/hooks'
import type { Second } from '../activity.js'
import type { Listed } from '../exchange-detail.js'
import type { Update } from '../streams.js'
import type { WorldState } from '../world-state.js'
import { pathsOf } from './call-server.js'
import { authorization } from './token.js'

/** A request with the epoch of its process: a restarted process numbers requests anew. */
export type Row = Listed & { readonly epoch: number }

export interface Live {
  /** 'refused': the server has another token now. */
  readonly connection: 'open' | 'lost' | 'refused'
  readonly epoch: number
  /** Newest first. */
  readonly rows: readonly Row[]
  readonly omitted: number
  /** Requests per second, oldest first. */
  readonly traffic: readonly Second[]
  /** The server's real time minus the browser's, in ms. */
  readonly skew: number
  readonly state: WorldState | undefined
  /** Arrival of the state, by `performance.now()`. */
  readonly receivedAt: number
}

const MAX_ROWS = 1_000
const SECONDS = 300

const NOTHING: Live = {
  connection: 'lost',
  epoch: 0,
  rows: [],
  omitted: 0,
  traffic: [],
  skew: 0,
  state: undefined,
  receivedAt: 0,
}

/** Follows a world. Reconnects after a failure, and resumes. */
export function useLive(world: string): Live {
  const live = useRef(NOTHING)
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const change = (changes: Partial<Live>) => {
      live.current = { ...live.current, ...changes }
      redraw(undefined)
    }
    live.current = NOTHING
    const left = new AbortController()
    void follow(pathsOf(world).console('events'), left.signal, change, live)
    return () => left.abort()
  }, [world])
  return live.current
}

/** Wait before reconnecting, in ms. */
const RETRY = 1_000

/** Uses `fetch`, as `EventSource` can send no token but a cookie. */
async function follow(
  path: string,
  signal: AbortSignal,
  change: (changes: Partial<Live>) => void,
  live: { readonly current: Live },
): Promise<void> {
  let last = ''
  while (!signal.aborted) {
    const headers = { ...authorization(), ...(last && { 'last-event-id': last }) }
    try {
      const response = await fetch(path, { headers, signal })
      if (!response.ok) return change({ connection: 'refused' })
      change({ connection: 'open' })
      for await (const { id, data } of eventsOf(response)) {
        last = id
        change(applied(live.current, Number.parseInt(id, 10), JSON.parse(data)))
      }
    } catch {
      // The server is away, or the page was left.
    }
    if (signal.aborted) return
    change({ connection: 'lost' })
    await new Promise(resolve => setTimeout(resolve, RETRY))
  }
}

/** Parses server-sent events, each with `id` and one line of `data`. */
async function* eventsOf({ body }: Response) {
  const reader = (body as ReadableStream<BufferSource>)
    .pipeThrough(new TextDecoderStream())
    .getReader()
  let text = ''
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const parts = (text + read.value).split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? ''
      yield { id: field('id'), data: field('data') }
    }
  }
}

function applied(live: Live, epoch: number, update: Update): Partial<Live> {
  const { entries, omitted, traffic, serverTime, state } = update
  const fresh = entries.map(entry => ({ ...entry, epoch })).toReversed()
  // The journal of a restarted process has other requests.
  const known = epoch === live.epoch ? live.rows : live.rows.map(row => ({ ...row, journal: null }))
  const rows = fresh.length === 0 ? known : [...fresh, ...known].slice(0, MAX_ROWS)
  const left = known.length + fresh.length - rows.length
  return {
    connection: 'open',
    epoch,
    rows,
    omitted: live.omitted + omitted + left,
    traffic: merged(live.traffic, traffic),
    skew: serverTime - Date.now(),
    state,
    receivedAt: performance.now(),
  }
}

/** Later counts of a second replace earlier ones. */
function merged(known: readonly Second[], news: readonly Second[]): readonly Second[] {
  const [first] = news
  if (!first) return known
  const kept = known.filter(({ at }) => at < first.at && at > first.at - SECONDS)
  return [...kept, ...news]
}
