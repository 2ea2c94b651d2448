import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { delimiter } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import { durationText } from '../../../src/lib/time.js'
import type { JudgedDouble } from '../../test-double/double.js'
import { packagePath } from '../version.js'

/** Real time since the start of a run, plus the time that was skipped. */
export function createVirtualTime() {
  // It begins at a fixed instant, so that two recordings are alike.
  const ahead = Date.parse('2030-01-01T00:00:00Z') - Date.now()
  const time = { ahead, skipped: 0, now: () => Date.now() + ahead + time.skipped }
  return time
}

interface SkippingOptions {
  readonly time: ReturnType<typeof createVirtualTime>
  /** Port of the store. */
  readonly port: number
  readonly doubles: () => readonly JudgedDouble[]
  /** Virtual ms that a response may take. @default Infinity */
  readonly longest?: number | undefined
  /** Aborted instead of waiting longer for a response. */
  readonly tooLong: AbortController
}

/** A message of a process that has nothing to do but wait. */
interface Sleep {
  /** Its next wake-up; null for none. */
  readonly sleep: number | null
  /** True if it only cleans up then, such as idle connections: time jumps to no such wake-up. */
  readonly isIdle?: boolean
  /** Its connections to the store. */
  readonly connections: readonly (readonly [port: number, written: number, read: number])[]
  /** The skipped time that it knows of. */
  readonly skipped: number
}

/**
 * Skips the time in which every process that talks to the store sleeps and no request is in flight.
 * Each process has a shim, in `skip-waits/`, which connects and reports when the process sleeps; it
 * gets a message after each jump.
 */
export async function skipWaits(options: SkippingOptions) {
  const { time, port, doubles, longest = Number.POSITIVE_INFINITY, tooLong } = options
  // Before anything is opened, as a bundle may lack them.
  const shims = packagePath('adapters/cli/exec/skip-waits')
  const token = crypto.randomUUID()
  const processes = new Map<Socket, Sleep | undefined>()
  const announced = new Set<number>()
  const store = watchConnections(port, time.now, onChange)
  let [changes, isOver] = [0, false]

  for (const { events } of doubles()) events.activity.add(onChange)
  const server = createServer(accept)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const preload = `--require ${JSON.stringify(`${shims}/preload.cjs`)}`
  const { NODE_OPTIONS = '', PYTHONPATH = '' } = process.env

  return {
    variables: {
      ADOPTION_STORE_VIRTUAL_TIME: `${(server.address() as AddressInfo).port}:${token}:${time.ahead}`,
      NODE_OPTIONS: `${preload} ${NODE_OPTIONS}`,
      PYTHONPATH: (PYTHONPATH && `${shims}${delimiter}${PYTHONPATH}`) || shims,
    },
    hasStranger,
    async close() {
      isOver = true
      store.close()
      for (const socket of processes.keys()) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }

  function accept(socket: Socket): void {
    socket.on('error', () => {})
    // It passes the errors of its input on.
    const lines = createInterface(socket).on('error', () => {})
    lines.once('line', line => {
      if (line !== token) return void socket.destroy()
      processes.set(socket, undefined)
      tell(socket)
      lines.on('line', line => onMessage(socket, JSON.parse(line)))
      socket.once('close', () => {
        processes.delete(socket)
        onChange()
      })
    })
  }

  function onMessage(socket: Socket, message: Sleep | { port: number } | { awake: true }): void {
    if ('port' in message) announced.add(message.port)
    else processes.set(socket, 'sleep' in message ? message : undefined)
    onChange()
  }

  function tell(socket: Socket): void {
    socket.write(`${JSON.stringify({ skipped: time.skipped })}\n`)
  }

  /** True once a process without a shim has called the API: its clock does not jump. */
  function hasStranger(): boolean {
    return [...store.callers].some(caller => !announced.has(caller))
  }

  /** Looks once nothing has changed for two turns, in which everything that was sent arrives. */
  async function onChange(): Promise<void> {
    const change = ++changes
    await setImmediate()
    await setImmediate()
    if (change !== changes || isOver) return
    // A request may be read before its announcement, so only what stays unannounced ends the skipping.
    if (!hasStranger() && isQuiet()) jump()
  }

  function isQuiet(): boolean {
    const isAsleep = (one: Sleep | undefined) =>
      one?.skipped === time.skipped && one.connections.every(store.isReadByBothEnds)
    const all = [...processes.values()]
    const isAwaited = all.some(one => !one?.isIdle)
    return isAwaited && all.every(isAsleep) && doubles().every(one => !one.isBusy())
  }

  function jump(): void {
    const now = time.now()
    const sleeps = [...processes.values()].map(one => one?.sleep ?? Number.POSITIVE_INFINITY)
    const next = Math.min(...sleeps, ...doubles().map(({ clock }) => now + clock.untilNext()))
    if (next > store.waitingSince() + longest) {
      isOver = true
      tooLong.abort()
      return
    }
    // A wait of a few ms ends by itself.
    if (next < now + 2 || next === Number.POSITIVE_INFINITY) return
    time.skipped += Math.ceil(next - now)
    for (const { clock } of doubles()) clock.catchUp()
    for (const socket of processes.keys()) tell(socket)
  }
}

/** Watches the connections to the store, from its end. */
function watchConnections(port: number, now: () => number, onChange: () => void) {
  /** Ports of clients that have called the API. */
  const callers = new Set<number>()
  /**
   * By the port of the client, with their counts also after their end. One that ended within a
   * response is left out, as the client may not know of its end yet.
   */
  const sockets = new Map<number, Socket>()
  /** When the requests without a whole response arrived. */
  const waiting = new Map<ServerResponse, number>()

  const onRequest = (message: unknown) => {
    const { response } = message as { readonly response: ServerResponse }
    const { url = '', socket } = response.req
    const { localPort, remotePort } = socket
    if (localPort !== port || remotePort === undefined) return
    if (!CONTROL.test(url)) callers.add(remotePort)
    sockets.set(remotePort, socket)
    waiting.set(response, now())
    // The server passes it on in a later turn.
    onChange()
    response.once('close', () => {
      waiting.delete(response)
      if (!response.writableFinished) sockets.delete(remotePort)
      onChange()
    })
  }
  subscribe('http.server.request.start', onRequest)

  return {
    callers,
    waitingSince: () => Math.min(...waiting.values()),
    isReadByBothEnds([port, written, read]: Sleep['connections'][number]): boolean {
      // A new connection without a request is about to get one.
      const socket = sockets.get(port)
      return socket?.bytesRead === written && socket.bytesWritten === read
    },
    close: () => unsubscribe('http.server.request.start', onRequest),
  }
}

/** Commands, such as arming a fault from a shell, do not depend on the time. */
const CONTROL = /^(\/worlds\/[^/]*)?\/_control(\/|$)/

/** @param skips those of all runs of a command */
export function skippedText(skips: { ms: number; hasStranger: boolean }): string {
  return `Skipped ${durationText(skips.ms)} of waits.\n${skips.hasStranger ? STRANGER : ''}`
}

const STRANGER =
  'A process that is neither Node nor Python called the API: from then on, nothing was skipped. Go has testing/synctest.\n'
