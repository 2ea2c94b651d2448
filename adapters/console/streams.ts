import type { ServerResponse } from 'node:http'
import type { ApiResponse } from '../../src/protocol/api.js'
import type { Activity } from './activity.js'
import { listedOf } from './exchange-detail.js'
import type { Update } from './messages.js'
import type { ConsoleWorld } from './options.js'
import type { ShowKeys } from './show-keys.js'
import { stateOf, type WorldState } from './world.js'

/** Sends the exchanges of an API to their watchers, as server-sent events. */
export interface Streams {
  /** @param lastEventId where to resume, if the client has been here before */
  open(lastEventId: string | undefined): Promise<ApiResponse>
  /** The number of watchers. */
  readonly size: number
}

interface Watcher {
  readonly response: ServerResponse
  /** The `n` of the last exchange it knows. */
  cursor: number
  /** The state it knows, and when it was sent. */
  state: string
  sentAt: number
}

/** The least time between two messages, in ms, and the most requests in one. */
const INTERVAL = 100
const MAX_ENTRIES = 20
/** The first message holds more requests. */
const MAX_HISTORY = 500
/** How often the state is compared, and how soon it is sent even if nothing has changed. */
const STATE_INTERVAL = 500
const HEARTBEAT = 10_000

export function createStreams(
  activity: Activity,
  world: ConsoleWorld,
  showKeys: ShowKeys,
  onEmpty: () => void,
): Streams {
  // Event ids of another process mean nothing here.
  const epoch = String(Date.now())
  const watchers = new Set<Watcher>()
  let timer: NodeJS.Timeout | undefined
  let stateTimer: NodeJS.Timeout | undefined

  return {
    get size() {
      return watchers.size
    },
    async open(lastEventId) {
      const cursor = cursorOf(lastEventId)
      const state = await stateOf(world)
      const text = format(cursor, MAX_HISTORY, 0, state)
      const watcher = { cursor: activity.last, state: comparable(state), sentAt: Date.now() }
      return {
        status: 200,
        headers: HEADERS,
        // Doors that cannot stream send this alone, and the browser reconnects for the rest.
        body: text,
        deliver(response) {
          watch({ ...watcher, response: response as ServerResponse }, text)
        },
      }
    },
  }

  function cursorOf(lastEventId: string | undefined): number {
    const [, ofEpoch, n] = /^(\d+)-(\d+)$/.exec(lastEventId ?? '') ?? []
    return ofEpoch === epoch ? Math.min(Number(n), activity.last) : 0
  }

  function watch(watcher: Watcher, first: string): void {
    const { response } = watcher
    const { socket } = response.req
    // The client left while the first message was made.
    if (socket.readableEnded || socket.destroyed) {
      response.destroy()
      return
    }
    response.writeHead(200, HEADERS)
    response.write(first)
    watchers.add(watcher)
    // The HTTP door keeps a half-open connection, for clients that end early and then read.
    socket.once('end', () => response.destroy())
    response.on('close', () => {
      watchers.delete(watcher)
      if (watchers.size === 0) rest()
    })
    activity.onRecord = schedule
    stateTimer ??= setInterval(() => void flush(), STATE_INTERVAL).unref()
    schedule()
  }

  function rest(): void {
    activity.onRecord = undefined
    clearTimeout(timer)
    clearInterval(stateTimer)
    timer = stateTimer = undefined
    onEmpty()
  }

  function schedule(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      void flush()
    }, INTERVAL).unref()
  }

  async function flush(): Promise<void> {
    const state = await stateOf(world)
    const current = comparable(state)
    const now = Date.now()
    for (const watcher of watchers) {
      const { response, cursor } = watcher
      const isNews = cursor !== activity.last || watcher.state !== current
      // A page that cannot keep up gets fewer requests, not late ones.
      if (response.writableNeedDrain || !(isNews || now - watcher.sentAt > HEARTBEAT)) continue
      const text = format(cursor, MAX_ENTRIES, Math.floor(watcher.sentAt / 1000), state)
      Object.assign(watcher, { cursor: activity.last, state: current, sentAt: now })
      response.write(text)
    }
  }

  function format(cursor: number, most: number, trafficFrom: number, state: WorldState): string {
    const showing = showKeys()
    const entries = activity.since(cursor).slice(-most)
    const update: Update = {
      entries: entries.map(one => listedOf(showing(one))),
      omitted: activity.last - cursor - entries.length,
      traffic: activity.traffic(trafficFrom),
      serverTime: Date.now(),
      state,
    }
    return `retry: 1000\nid: ${epoch}-${activity.last}\ndata: ${JSON.stringify(update)}\n\n`
  }
}

/** A running clock is not a change. */
function comparable(state: WorldState): string {
  return JSON.stringify(state.frozen ? state : { ...state, now: 0 })
}

const HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
}
