import type { ServerResponse } from 'node:http'
import { ApiError } from '../../../src/api-error.js'
import type { ApiResponse } from '../../../src/protocol/api-request.js'
import { clearInterval, setInterval } from '../../platform.js'
import type { Activity, Second, WatchedWorld } from './activity.js'
import { type Listed, listedOf } from './exchange-detail.js'
import { stateOf, type WorldState } from './world-state.js'

/** A message of `/_console/events`. It contains only public API keys. */
export interface Update {
  /** Latest requests since the previous message, oldest first. */
  readonly entries: readonly Listed[]
  /** Number of further requests since then. */
  readonly omitted: number
  readonly traffic: readonly Second[]
  /** Real time, in ms. */
  readonly serverTime: number
  readonly state: WorldState
}

export type Streams = ReturnType<typeof createStreams>

interface Watcher {
  /** The `n` of the last exchange sent. */
  cursor: number
  state: string
  sentAt: number
}

const MAX_WATCHERS = 16
/** Minimum ms between two messages. */
const INTERVAL = 100
const MAX_ENTRIES = 20
/** Maximum requests in the first message. */
const MAX_HISTORY = 500
/** Idle: compare the state every n intervals. */
const STATE_INTERVALS = 5
/** Interval of messages without news, in ms. */
const HEARTBEAT = 10_000

export function createStreams(activity: Activity, world: WatchedWorld, onEmpty: () => void) {
  // Distinguishes event ids of other processes.
  const epoch = String(Date.now())
  const watchers = new Map<ServerResponse, Watcher>()
  let timer: NodeJS.Timeout | undefined
  let intervals = 0
  let known = 0

  return {
    /** @param lastEventId resumes after this event @throws ApiError 503 for too many */
    async open(lastEventId: string | undefined): Promise<ApiResponse> {
      if (watchers.size >= MAX_WATCHERS) {
        const message = `${MAX_WATCHERS} consoles are open already; close one.`
        throw new ApiError('invalid_request', message, { status: 503 })
      }
      const [, ofEpoch, n] = /^(\d+)-(\d+)$/.exec(lastEventId ?? '') ?? []
      const cursor = ofEpoch === epoch ? Math.min(Number(n), activity.last()) : 0
      const watcher = { cursor, state: '', sentAt: 0 }
      const text = messageTo(watcher, MAX_HISTORY, await stateOf(world))
      return {
        status: 200,
        headers: HEADERS,
        // Adapters that cannot stream send this alone, and the browser reconnects for the rest.
        body: text,
        deliver: response => watch(response as ServerResponse, watcher, text),
      }
    },
  }

  function watch(response: ServerResponse, watcher: Watcher, first: string): void {
    const { socket } = response.req
    // The client left before the first message was ready.
    if (socket.readableEnded || socket.destroyed) return void response.destroy()
    response.writeHead(200, HEADERS)
    response.write(first)
    watchers.set(response, watcher)
    // The HTTP adapter keeps half-open connections, for clients that end early and then read.
    socket.once('end', () => response.destroy())
    response.on('close', () => {
      watchers.delete(response)
      if (watchers.size > 0) return
      clearInterval(timer)
      timer = undefined
      onEmpty()
    })
    timer ??= setInterval(() => void flush(), INTERVAL).unref()
  }

  async function flush(): Promise<void> {
    if (++intervals % STATE_INTERVALS !== 0 && known === activity.last()) return
    known = activity.last()
    const state = await stateOf(world)
    for (const [response, watcher] of watchers) {
      const isNews = watcher.cursor !== activity.last() || watcher.state !== comparable(state)
      // A slow page gets fewer requests rather than late ones.
      if (response.writableNeedDrain || !(isNews || Date.now() - watcher.sentAt > HEARTBEAT))
        continue
      response.write(messageTo(watcher, MAX_ENTRIES, state))
    }
  }

  function messageTo(watcher: Watcher, most: number, state: WorldState): string {
    const entries = activity.since(watcher.cursor).slice(-most)
    const last = activity.last()
    const update: Update = {
      entries: entries.map(kept => listedOf(kept, world)),
      omitted: last - watcher.cursor - entries.length,
      traffic: activity.traffic(Math.floor(watcher.sentAt / 1000)),
      serverTime: Date.now(),
      state,
    }
    Object.assign(watcher, { cursor: last, state: comparable(state), sentAt: Date.now() })
    return `retry: 1000\nid: ${epoch}-${last}\ndata: ${JSON.stringify(update)}\n\n`
  }
}

/** Ignores the time of a running clock. */
function comparable(state: WorldState): string {
  return JSON.stringify(state.frozen ? state : { ...state, now: 0 })
}

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
}
