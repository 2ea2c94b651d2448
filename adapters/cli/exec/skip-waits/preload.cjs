// Loaded by `exec --skip-waits` into each thread of Node: tells the store when the thread has nothing to do but wait,
// and moves its timers and clocks when the store skips time.
'use strict'

const { ADOPTION_STORE_VIRTUAL_TIME: address, ADOPTION_STORE_BASE_URL: baseUrl } = process.env
if (address && baseUrl) install(address.split(':'), Number(new URL(baseUrl).port))

function install([port, token, ahead], storePort) {
  // The code under test may replace all of these.
  const { setTimeout, setImmediate, performance } = globalThis
  const realDate = Date.now
  const realTime = performance.now.bind(performance)

  /** The ms that the store has skipped, and the part before this thread met it. */
  let [skipped, before] = [0, 0]
  const time = () => realTime() + skipped - before
  const date = () => realDate() + Number(ahead) + skipped

  const probe = setTimeout(onProbe, 1).unref()
  const timers = watchTimers(time, probe.constructor.prototype)
  const sockets = watchSockets(storePort, Number(port), onStoreSocket)
  let control
  let [turns, quietProbes, isAsleep] = [0, 0, false]
  moveClocks(date, () => skipped - before)

  /** @returns nothing before the request is sent, which must not come before its announcement */
  function onStoreSocket(socket) {
    control ??= join()
    const announce = () => send({ port: socket.localPort })
    if (!control.connecting) return announce()
    socket.cork()
    control.once('connect', announce)
    for (const event of ['connect', 'close']) control.once(event, () => socket.uncork())
  }

  function join() {
    const own = require('node:net').connect(Number(port), '127.0.0.1').setNoDelay().unref()
    let text = ''
    let isMet = false
    own.write(`${token}\n`)
    own.on('error', () => {})
    own.on('data', data => {
      const lines = (text + data).split('\n')
      text = lines.pop()
      for (const line of lines) skipped = JSON.parse(line).skipped
      if (!isMet) before = skipped
      isMet = true
      isAsleep = false
      timers.shorten()
    })
    onTurn()
    return own
  }

  function send(message) {
    control.write(`${JSON.stringify(message)}\n`)
  }

  /** Called once in each turn of the event loop, without keeping it from waiting. */
  function onTurn() {
    turns++
    if (isAsleep) send({ awake: true })
    isAsleep = false
    if (!probe._idleNext) probe.refresh()
    setImmediate(onTurn).unref()
  }

  /** After two probes without another turn, nothing happens until a timer or an answer. */
  function onProbe() {
    quietProbes = turns === 1 ? quietProbes + 1 : 0
    turns = 0
    if (!control) return
    if (quietProbes < 2 || sockets.isBusy() || isProcessBusy()) return probe.refresh()
    const isWaiting = sockets.ofStore().some(sockets.isInFlight)
    const next = timers.next(timer => isWaiting || timer.hasRef())
    const connections = sockets
      .ofStore()
      .map(one => [one.localPort, one.bytesWritten, one.bytesRead])
    send({ sleep: next === undefined ? null : date() + next - time(), connections, skipped })
    isAsleep = true
  }
}

/** Timers stay those of Node, also in its own modules: they are only observed, and shortened. */
function watchTimers(time, prototype) {
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
      const { due, ms } = (isShortening && about.get(this)) || {
        due: time() + this._idleTimeout,
        ms: this._idleTimeout,
      }
      about.set(this, { start, due, ms })
      if (start === null) return
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
    next(isCounted) {
      return about.get(inOrder().find(isCounted))?.due
    },
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
  const { Socket } = require('node:net')
  const { connect, _writeGeneric: write } = Socket.prototype
  const open = new Set()
  const accepted = new Set()
  /** What a socket had read when it wrote last: while it has read nothing since, an answer is due. */
  const readAtWrite = new WeakMap()
  const isInFlight = socket => readAtWrite.get(socket) === socket.bytesRead
  const isOfStore = ({ remotePort, remoteAddress }) =>
    remotePort === storePort && /^(::ffff:)?127\.|^::1$/.test(remoteAddress)

  Socket.prototype.connect = function (...given) {
    this.prependOnceListener('connect', () => {
      if (this.remotePort === controlPort) return
      open.add(this)
      this.once('close', () => open.delete(this))
      if (isOfStore(this)) onStoreSocket(this)
    })
    return connect.apply(this, given)
  }
  Socket.prototype._writeGeneric = function (...given) {
    readAtWrite.set(this, this.bytesRead)
    return write.apply(this, given)
  }
  // A server of this process answers the process itself.
  require('node:diagnostics_channel').subscribe('net.server.socket', ({ socket }) => {
    const { remotePort } = socket
    accepted.add(remotePort)
    socket.once('close', () => accepted.delete(remotePort))
  })

  return {
    isInFlight,
    ofStore: () => [...open].filter(socket => !socket.destroyed && isOfStore(socket)),
    /** Another server may answer at any time. */
    isBusy: () =>
      [...open].some(one => !isOfStore(one) && !accepted.has(one.localPort) && isInFlight(one)),
  }
}

/** True while another thread works, a file is read, a name looked up, or a child process runs. */
function isProcessBusy() {
  if (process.getActiveResourcesInfo().some(name => /Req|(Connect|Write|Process)Wrap/.test(name))) {
    return true
  }
  const { readdirSync, readFileSync } = require('node:fs')
  try {
    const threads = readdirSync('/proc/self/task')
    const states = threads.map(id => /\) (.)/.exec(readFileSync(`/proc/self/task/${id}/stat`))?.[1])
    // This thread is one of those that run.
    return states.filter(state => state === 'R' || state === 'D').length > 1
  } catch {
    return false
  }
}

function moveClocks(date, jumped) {
  const vm = require('node:vm')
  const { createContext } = vm
  vm.createContext = (...given) => {
    const context = createContext(...given)
    moveDate(vm.runInContext('globalThis', context))
    return context
  }
  moveDate(globalThis)

  const { prototype } = performance.constructor
  const { now } = prototype
  prototype.now = function () {
    return now.call(this) + jumped()
  }
  const { hrtime } = process
  const { bigint } = hrtime
  process.hrtime = (since = [0, 0]) => {
    const ns = process.hrtime.bigint() - BigInt(since[0]) * 1_000_000_000n - BigInt(since[1])
    return [Number(ns / 1_000_000_000n), Number(ns % 1_000_000_000n)]
  }
  process.hrtime.bigint = () => bigint() + BigInt(Math.round(jumped() * 1e6))

  function moveDate(realm) {
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
