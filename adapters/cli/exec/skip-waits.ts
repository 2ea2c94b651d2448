import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setImmediate } from 'node:timers/promises'
import type { JudgedDouble } from '../../test-double/double.js'
import { packagePath } from '../version.js'

/** Virtual time begins here, so that two recordings are alike. */
const BEGIN = Date.parse('2030-01-01T00:00:00Z')

export type VirtualTime = ReturnType<typeof createVirtualTime>

/** Real time since the start of a run, and the time that was skipped. */
export function createVirtualTime() {
  const ahead = BEGIN - Date.now()
  let skipped = 0
  return {
    ahead,
    now: () => Date.now() + ahead + skipped,
    /** In ms. */
    skipped: () => skipped,
    skip(ms: number) {
      skipped += ms
    },
  }
}

interface SkippingOptions {
  readonly time: VirtualTime
  /** Port of the store. */
  readonly port: number
  readonly doubles: () => readonly JudgedDouble[]
  /** The longest wait for a response, in virtual ms. */
  readonly longest?: number | undefined
}

interface Skipping {
  readonly variables: NodeJS.ProcessEnv
  /** Aborted instead of waiting longer than allowed for a response. */
  readonly isTooLong: AbortSignal
  /** Tells how much was skipped. */
  text(): string
  close(): Promise<void>
}

/** What a process sends while it has nothing to do but wait. */
interface Sleep {
  /** Its next wake-up; null for none. */
  readonly sleep: number | null
  /** Its connections to the store: port, bytes written, bytes read. */
  readonly connections: readonly (readonly [port: number, written: number, read: number])[]
  /** The skipped time that it has heard of. */
  readonly skipped: number
}

/**
 * Skips the time in which all processes that talk to the store sleep, and no request is in flight.
 * Their shims (`skip-waits/`) connect and tell when they sleep, and are told when time has jumped.
 */
export async function skipWaits({
  time,
  port,
  doubles,
  longest = Number.POSITIVE_INFINITY,
}: SkippingOptions): Promise<Skipping> {
  const token = crypto.randomUUID()
  const processes = new Map<Socket, Sleep | undefined>()
  const announced = new Set<number>()
  /** Ports of clients that have called the API. */
  const callers = new Set<number>()
  /** Connections of the store by the port of the client, also closed ones. */
  const connections = new Map<number, Socket>()
  /** Connections that ended in the middle of a response, which the client may not know yet. */
  const cut = new WeakSet<Socket>()
  const waiting = new Map<ServerResponse, number>()
  const tooLong = new AbortController()
  let [changes, isSettling, isOver] = [0, false, false]

  const onConnection = (message: unknown) => {
    const { socket } = message as { readonly socket: Socket }
    if (socket.localPort === port) connections.set(socket.remotePort as number, socket)
  }
  const onRequest = (message: unknown) => {
    const { request, response, socket } = message as HttpRequest
    if (socket.localPort !== port) return
    if (!CONTROL.test(request.url ?? '')) callers.add(socket.remotePort as number)
    waiting.set(response, time.now())
    response.once('close', () => {
      waiting.delete(response)
      if (!response.writableFinished) cut.add(socket)
      onChange()
    })
  }
  subscribe('net.server.socket', onConnection)
  subscribe('http.server.request.start', onRequest)
  for (const { events } of doubles()) events.activity.add(onChange)
  const server = createServer(accept)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const own = (server.address() as AddressInfo).port

  return {
    variables: {
      ADOPTION_STORE_VIRTUAL_TIME: `${own}:${token}:${time.ahead}`,
      NODE_OPTIONS: joined(
        ' ',
        `--require ${JSON.stringify(join(SHIMS, 'preload.cjs'))}`,
        'NODE_OPTIONS',
      ),
      PYTHONPATH: joined(delimiter, SHIMS, 'PYTHONPATH'),
    },
    isTooLong: tooLong.signal,
    text() {
      const skipped = `Skipped ${lengthText(time.skipped())} of waits.\n`
      return hasStranger() ? `${skipped}${STRANGER}\n` : skipped
    },
    async close() {
      isOver = true
      unsubscribe('net.server.socket', onConnection)
      unsubscribe('http.server.request.start', onRequest)
      for (const socket of processes.keys()) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }

  function accept(socket: Socket): void {
    socket.on('error', () => {})
    const lines = createInterface({ input: socket })
    lines.once('line', line => {
      if (line !== token) return void socket.destroy()
      processes.set(socket, undefined)
      tell(socket)
      lines.on('line', line => onMessage(socket, line))
      socket.once('close', () => {
        processes.delete(socket)
        onChange()
      })
    })
  }

  function onMessage(socket: Socket, line: string): void {
    const message = JSON.parse(line)
    if ('port' in message) announced.add(message.port)
    else processes.set(socket, 'sleep' in message ? message : undefined)
    onChange()
  }

  /** True once a process without a shim has called the API: its clock does not jump. */
  function hasStranger(): boolean {
    return [...callers].some(port => !announced.has(port))
  }

  function tell(socket: Socket): void {
    socket.write(`${JSON.stringify({ skipped: time.skipped() })}\n`)
  }

  function onChange(): void {
    changes++
    if (!isSettling) void settle()
  }

  /** Looks once nothing has changed for two turns, in which everything that was sent arrives. */
  async function settle(): Promise<void> {
    isSettling = true
    for (let seen = -1; seen !== changes; ) {
      seen = changes
      await setImmediate()
      await setImmediate()
    }
    isSettling = false
    if (!isOver && processes.size > 0 && isQuiet()) jump()
  }

  function isQuiet(): boolean {
    const sleeps = [...processes.values()]
    return (
      doubles().every(double => !double.isBusy()) &&
      sleeps.every(
        one => one?.skipped === time.skipped() && one.connections.every(isReadByBothEnds),
      )
    )
  }

  function isReadByBothEnds([port, written, read]: Sleep['connections'][number]): boolean {
    const socket = connections.get(port)
    if (!socket) return written + read === 0
    return socket.bytesRead === written && socket.bytesWritten === read && !cut.has(socket)
  }

  function jump(): void {
    if (hasStranger()) {
      isOver = true
      return
    }
    const sleeps = [...processes.values()].map(one => one?.sleep ?? Number.POSITIVE_INFINITY)
    const delays = doubles().map(({ clock }) => time.now() + clock.untilNext())
    const next = Math.min(...sleeps, ...delays)
    if (next > Math.min(...waiting.values()) + longest) {
      isOver = true
      tooLong.abort()
      return
    }
    const ms = Math.ceil(next - time.now())
    // Otherwise the wait ends by itself.
    if (ms < 2 || next === Number.POSITIVE_INFINITY) return
    time.skip(ms)
    for (const { clock } of doubles()) clock.catchUp()
    for (const socket of processes.keys()) tell(socket)
  }
}

interface HttpRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly socket: Socket
}

/** Commands, such as arming a fault from a shell, do not depend on the time. */
const CONTROL = /^(\/worlds\/[^/]*)?\/_control(\/|$)/

/** The folder of `preload.cjs` for Node, and `sitecustomize.py` for Python. */
const SHIMS = packagePath('adapters/cli/exec/skip-waits')

const STRANGER =
  'Nothing was skipped once a process had called the API that is neither Node nor Python: it waits as before. Go has testing/synctest.'

/** `23 h 59 min 12 s`, in its units that are not 0. */
function lengthText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ].filter(([amount]) => amount !== 0)
  return parts.map(part => part.join(' ')).join(' ') || '0 s'
}

function joined(separator: string, own: string, variable: string): string {
  return [own, process.env[variable]].filter(Boolean).join(separator)
}
