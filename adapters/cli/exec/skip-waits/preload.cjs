// Loaded by `exec --skip-waits` into each thread of Node: tells the store when the thread has nothing to do but wait,
// and moves its timers and clocks when the store skips time.
'use strict'
const { subscribe } = require('node:diagnostics_channel')
const { existsSync, readdirSync, readFileSync } = require('node:fs')
const net = require('node:net')
const { createInterface } = require('node:readline')
const vm = require('node:vm')
const { isMainThread } = require('node:worker_threads')

const THREADS = '/proc/self/task'
// So early, the others are V8's, which only collect garbage, and compile what runs already.
const [, ...ofV8] = isMainThread && existsSync(THREADS) ? readdirSync(THREADS) : []
// A worker may wait for them.
subscribe('worker_threads', () => ofV8.splice(0))
// WebAssembly that the code waits for.
let compiling = 0

const { ADOPTION_STORE_VIRTUAL_TIME: address, ADOPTION_STORE_BASE_URL: baseUrl } = process.env
if (address && baseUrl) install(address.split(':'), Number(new URL(baseUrl).port))

function install([controlPort, token, ahead], storePort) {
  // The code under test may replace all of these.
  const { setTimeout, setImmediate } = globalThis
  const realDate = Date.now
  const realTime = performance.now.bind(performance)
  /** The ms that the store has skipped, and the part before this thread met it. */
  let skipped = 0
  let before
  let [turns, quietProbes, isAsleep] = [0, 0, false]
  let control
  const jumped = () => skipped - (before ?? skipped)
  const time = () => realTime() + jumped()
  const date = () => realDate() + Number(ahead) + skipped
  const probe = setTimeout(onProbe, 1).unref()
  const timers = watchTimers(probe.constructor.prototype, time)
  const sockets = watchSockets(storePort, Number(controlPort), announce)
  moveClocks(date, jumped)

  /** Holds the first requests back until the thread is announced, and its clock is that of the store. */
  function announce(socket) {
    control ??= join()
    tell({ port: socket.localPort })
    if (before !== undefined) return
    socket.cork()
    for (const event of ['data', 'close']) control.once(event, () => socket.uncork())
  }

  function join() {
    const joined = net.connect({ port: controlPort, host: '127.0.0.1', noDelay: true }).unref()
    joined.setMaxListeners(0)
    joined.write(`${token}\n`)
    joined.on('error', () => {})
    const lines = createInterface(joined).on('line', line => {
      skipped = JSON.parse(line).skipped
      before ??= skipped
      isAsleep = false
      timers.shorten()
    })
    // It passes the errors of its input on.
    lines.on('error', () => {})
    onTurn()
    return joined
  }

  function tell(message) {
    control.write(`${JSON.stringify(message)}\n`)
  }

  /** Runs once in each turn of the event loop, which it lets wait. */
  function onTurn() {
    turns++
    if (isAsleep) tell({ awake: true })
    isAsleep = false
    if (!probe._idleNext) probe.refresh()
    setImmediate(onTurn).unref()
  }

  /** After two quiet probes, nothing happens before a timer ends or an answer comes. */
  function onProbe() {
    if (!control) return
    const isQuiet = turns === 1 && compiling === 0 && !sockets.isBusy() && !isProcessBusy()
    quietProbes = isQuiet ? quietProbes + 1 : 0
    turns = 0
    if (quietProbes < 2) return probe.refresh()
    const open = sockets.ofStore()
    const connections = open.map(one => [one.localPort, one.bytesWritten, one.bytesRead])
    const isWaiting = open.some(sockets.isInFlight)
    const running = timers.inOrder()
    const isIdle = !isWaiting && !running.some(timer => timer.hasRef())
    // Of the others, short ones only tick: fetch has one for its idle connections.
    const next = running.find(one => isWaiting || one.hasRef() || one._idleTimeout > 1_000)
    const sleep = next ? date() + timers.dueOf(next) - time() : null
    tell({ sleep, isIdle, connections, skipped })
    isAsleep = true
  }
}

/** Timers stay those of Node, also in its own modules: they are only observed, and shortened. */
function watchTimers(prototype, time) {
  const { refresh } = prototype
  const about = new WeakMap()
  const running = new Set()
  let [most, isShortening] = [1_000, false]

  // Node sets it whenever a timer starts.
  Object.defineProperty(prototype, '_idleStart', {
    get() {
      return about.get(this)?.start
    },
    set(start) {
      const ms = this._idleTimeout
      about.set(this, { ...(isShortening ? about.get(this) : { due: time() + ms, ms }), start })
      running.add(this)
      if (running.size > most) most = 1_000 + 2 * inOrder().length
    },
  })
  prototype.refresh = function () {
    if (this._idleTimeout > 0) this._idleTimeout = about.get(this)?.ms ?? this._idleTimeout
    return refresh.call(this)
  }

  function inOrder() {
    for (const timer of running) if (!timer._idleNext) running.delete(timer)
    return [...running].sort((one, other) => about.get(one).due - about.get(other).due)
  }

  return {
    inOrder,
    dueOf: timer => about.get(timer).due,
    shorten() {
      isShortening = true
      for (const timer of inOrder()) {
        timer._idleTimeout = Math.max(1, Math.ceil(about.get(timer).due - time()))
        refresh.call(timer)
      }
      isShortening = false
    },
  }
}

function watchSockets(storePort, controlPort, onStoreSocket) {
  const { connect, _writeGeneric: write } = net.Socket.prototype
  const open = new Set()
  /** Ports of connections to a server of this process, which answers the process itself. */
  const accepted = new Set()
  /** What a socket had read when it wrote last: while it has read nothing since, an answer is due. */
  const readAtWrite = new WeakMap()
  const isInFlight = socket => readAtWrite.get(socket) === socket.bytesRead
  const isOfStore = ({ remotePort }) => remotePort === storePort

  net.Socket.prototype.connect = function (...given) {
    this.prependOnceListener('connect', () => {
      if (this.remotePort === controlPort) return
      open.add(this)
      this.once('close', () => open.delete(this))
      if (isOfStore(this)) onStoreSocket(this)
    })
    return connect.apply(this, given)
  }
  net.Socket.prototype._writeGeneric = function (...given) {
    readAtWrite.set(this, this.bytesRead)
    return write.apply(this, given)
  }
  subscribe('net.server.socket', ({ socket }) => {
    const { remotePort } = socket
    accepted.add(remotePort)
    socket.once('close', () => accepted.delete(remotePort))
  })

  return {
    isInFlight,
    ofStore: () => [...open].filter(socket => !socket.destroyed && isOfStore(socket)),
    isBusy: () =>
      [...open].some(one => !isOfStore(one) && !accepted.has(one.localPort) && isInFlight(one)),
  }
}

/** True while another thread works, a file is read, a name looked up, or a child process runs. */
function isProcessBusy() {
  const resources = process.getActiveResourcesInfo()
  if (resources.some(name => /Req|(Connect|Write|Process)Wrap/.test(name))) return true
  try {
    const threads = readdirSync(THREADS).filter(id => !ofV8.includes(id))
    const states = threads.map(id => readFileSync(`${THREADS}/${id}/stat`, 'latin1'))
    // This thread is one of those that run.
    return states.filter(state => /\) [RD] /.test(state)).length > 1
  } catch {
    return false
  }
}

function moveClocks(date, jumped) {
  prepare(globalThis)
  const { createContext } = vm
  vm.createContext = (...given) => {
    const context = createContext(...given)
    prepare(vm.runInContext('globalThis', context))
    return context
  }
  const { prototype } = performance.constructor
  const { now } = prototype
  prototype.now = function () {
    return now.call(this) + jumped()
  }
  const { bigint } = process.hrtime
  process.hrtime = ([s, ns] = [0, 0]) => {
    const passed = process.hrtime.bigint() - BigInt(s) * 1_000_000_000n - BigInt(ns)
    return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)]
  }
  process.hrtime.bigint = () => bigint() + BigInt(Math.round(jumped() * 1e6))

  function prepare(realm) {
    countCompiles(realm)
    const real = realm.Date
    const moved = new Proxy(real, {
      apply: () => new moved().toString(),
      construct: (target, given, type) =>
        Reflect.construct(target, given.length > 0 ? given : [date()], type),
    })
    real.now = date
    real.prototype.constructor = moved
    Object.defineProperty(realm, 'Date', { value: moved, writable: true, configurable: true })
  }
}

function countCompiles({ WebAssembly }) {
  for (const name of ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming']) {
    const compile = WebAssembly?.[name]
    if (!compile) continue
    WebAssembly[name] = (...given) => {
      compiling++
      return compile(...given).finally(() => compiling--)
    }
  }
}
