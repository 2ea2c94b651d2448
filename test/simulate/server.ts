import { toFetchHandler } from '../../adapters/fetch.js'
import { type JsonFileStorage, jsonFileStorage } from '../../adapters/json-file/index.js'
import { memoryRateLimits } from '../../adapters/memory.js'
import {
  type ApiRequest,
  createStore,
  type Pet,
  type PetSnapshot,
  type RateLimitSnapshot,
  type Store,
} from '../../src/index.js'
import type { Machine } from './disk.js'
import type { ApiModel } from './model/api.js'
import { seen } from './model/pets.js'
import type { WireRequest, WireResponse } from './network.js'
import type { Setting } from './scenario.js'
import type { Scheduler } from './scheduler.js'
import { ensure } from './violation.js'

export interface ServerOptions {
  readonly setting: Setting
  readonly scheduler: Scheduler
  readonly machine: Machine
  readonly model: ApiModel
  /** The clock of the machine, which steps. */
  readonly clock: () => number
  readonly note: (what: string) => void
  readonly fail: (error: unknown) => void
  readonly trace: (line: string) => void
}

/** The server through all of its processes: it comes back by itself. */
export interface ServerLife {
  /** Undefined while no process listens. */
  handle(request: WireRequest): Promise<WireResponse> | undefined
  /** The process is dead, and a new one is started soon. */
  died(): void
  /** What the host does with its own store. They do nothing while there is none. */
  restart(): void
  snapshot(): void
  restore(): void
  /** Copies everything to a new file, and goes on with that. */
  swap(): void
  /** A key is added, and those of that id before it are removed later. */
  addKey(id: string): string
  /** Resolves once a process listens. */
  ready(): Promise<void>
  /** Closes the last process, opens what it left, and looks at the folder. */
  finish(): Promise<void>
}

interface Process {
  readonly store: Store
  readonly storage: JsonFileStorage
  readonly limits: ReturnType<typeof memoryRateLimits>
  readonly serve: (request: WireRequest) => Promise<WireResponse>
}

/** A snapshot, and what the model knew then. */
interface Saved {
  readonly pets: PetSnapshot
  readonly keys: ReadonlyMap<string, number>
}

/** How long a supervisor takes to start a process again. */
const START = { least: 1, most: 2_000 }
/** How long the old key of a client stays valid. */
const GRACE = 60_000

export function createServerLife(options: ServerOptions): ServerLife {
  const { setting, scheduler, machine, model, clock, note, fail, trace } = options
  const waiting = new Set<() => void>()
  let path = '/data/pets.json'
  let files = 1
  let life = 0
  let running: Process | undefined
  /** What the host is doing with its store, which it does not interrupt. */
  let isBusy = false
  let tasks = 0
  let saved: Saved = { pets: { pets: [], nextId: 1 }, keys: new Map() }
  /**
   * A restore that has not ended, or failed and the disk kept the storage from undoing it: if the process
   * dies before the next change, it may have happened or not.
   */
  let restoring: Saved | undefined
  let keptLimits: RateLimitSnapshot | undefined
  let keys = 0
  startLater()

  return {
    handle: request => running?.serve(request),
    died() {
      note('crash')
      life++
      running = undefined
      tasks++
      isBusy = false
      keptLimits = undefined
      model.history.crash()
      startLater()
    },
    restart: () => host('restart', restart),
    snapshot: () => host('snapshot', snapshot),
    restore: () => host('restore', restore),
    swap: () => host('swap', swap),
    addKey,
    ready: () =>
      running && !isBusy ? Promise.resolve() : new Promise(resolve => waiting.add(resolve)),
    finish,
  }

  function startLater(): void {
    const own = life
    scheduler.later('start', START, () => {
      if (own === life) void start().catch(fail)
    })
  }

  async function start(): Promise<void> {
    const own = life
    const failures = machine.failures()
    const process = await open(path).catch(error => {
      if (own !== life) return undefined
      note('refused to open')
      ensure(machine.failures() > failures, 'file.opens', () => `${(error as Error).message}`)
      startLater()
      return undefined
    })
    if (!process || own !== life) return
    note('start')
    await checkContent(process.storage)
    running = process
    if (keptLimits) await process.limits.restore(keptLimits)
    else model.forgetLimits()
    keptLimits = undefined
    callWaiting()
  }

  function callWaiting(): void {
    if (!running || isBusy) return
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  async function open(file: string): Promise<Process> {
    const storage = await jsonFileStorage(file, {
      disk: machine.start(),
      onError: ({ message }) =>
        note(message.replace(/.*(could not be compacted|unfinished write).*/s, '$1')),
    })
    const limits = memoryRateLimits()
    const { idempotencyMs, anonymous, pagination, defaultStatus } = setting
    const store = createStore({
      ...{ storage, clock, pagination, defaultStatus, rateLimits: limits, plans: { anonymous } },
      apiKeys: Object.fromEntries(
        [...model.keys].map(([key, { id, policy }]) => [
          key,
          { id, plan: 'enterprise' as const, limits: policy },
        ]),
      ),
      idempotency: idempotencyMs === null ? null : { ttlMs: idempotencyMs },
    })
    return { store, storage, limits, serve: createDoor(store) }
  }

  function createDoor(store: Store): (request: WireRequest) => Promise<WireResponse> {
    const fetchHandler = toFetchHandler(store)
    const isFetch = setting.door === 'fetch'
    return async request => {
      const own = life
      const check = model.expect(request, clock())
      const response =
        isFetch || request.isCut
          ? await readResponse(fetchHandler(toRequest(request)))
          : await readAnswer(store, request)
      if (own !== life) return NEVER
      try {
        check(response)
      } catch (error) {
        fail(error)
      }
      if (response.status === 201 && !isBusy) restoring = undefined
      note(String(response.status))
      trace(lineOf(request, response))
      return response
    }
  }

  /** Everything that was there before is there, and is all. */
  async function checkContent(storage: JsonFileStorage): Promise<void> {
    const { pets, nextId, idempotencyKeys = [] } = await storage.dump()
    const present = new Set(pets.map(({ id, name }) => `${id} ${name}`))
    const isOld = [...model.history.pets.values()].every(({ id, name }) =>
      present.has(`${id} ${name}`),
    )
    if (restoring && !isOld) replaced(restoring, pets)
    restoring = undefined
    model.history.reopen(pets.map(seen), nextId)
    const found = new Map(
      idempotencyKeys.map(({ scope, key, petId }) => [`${scope} ${key}`, petId]),
    )
    for (const [key, id] of model.usedKeys()) {
      ensure(
        found.get(key) === id,
        'animals.once',
        () => `the key of animal ${id} is that of ${found.get(key)} after reopening`,
      )
    }
    ensure(
      idempotencyKeys.length <= pets.length + 1_000,
      'memory.bounded',
      () => `${idempotencyKeys.length} keys for ${pets.length} animals`,
    )
  }

  function host(what: string, work: (process: Process) => Promise<void>): void {
    if (!running || isBusy) return
    const own = ++tasks
    isBusy = true
    note(what)
    const done = () => {
      if (own !== tasks) return
      isBusy = false
      callWaiting()
    }
    work(running).then(done, error => {
      if (own === tasks) fail(error)
      done()
    })
  }

  async function restart({ storage, limits }: Process): Promise<void> {
    const own = life
    running = undefined
    await close(storage)
    if (own !== life) return
    keptLimits = setting.keepsLimits ? await limits.dump() : undefined
    life++
    model.history.crash()
    startLater()
  }

  /** Closing rejects only if the disk fails; then the journal keeps what the document lacks. */
  async function close(storage: JsonFileStorage): Promise<void> {
    const own = life
    const failures = machine.failures()
    await storage.close().catch(error => {
      if (own !== life) return
      ensure(machine.failures() > failures, 'storage.available', () => `close: ${error.message}`)
    })
    if (own === life) machine.kill()
  }

  async function snapshot({ storage }: Process): Promise<void> {
    const pets = await storage.dump()
    saved = { pets, keys: model.usedKeys() }
  }

  async function restore({ storage }: Process): Promise<void> {
    const own = life
    const { pets } = saved
    restoring = saved
    const failures = machine.failures()
    try {
      await storage.restore(pets)
    } catch (error) {
      if (own !== life) return
      note('restore failed')
      const { message } = error as Error
      ensure(machine.failures() > failures, 'storage.available', () => `restore: ${message}`)
      return
    }
    if (own !== life) return
    replaced(restoring, (await storage.dump()).pets)
    restoring = undefined
  }

  function replaced({ pets, keys: used }: Saved, found: readonly Pet[]): void {
    model.history.replace(found.map(seen), pets.pets.map(seen), pets.nextId)
    model.replaceKeys(used)
  }

  /** As the command `copy` does. */
  async function swap({ storage }: Process): Promise<void> {
    const own = life
    running = undefined
    await close(storage)
    if (own !== life) return
    const next = `/data/pets-${++files}.json`
    const copied = await copyTo(next)
    if (own !== life) return
    if (copied) path = next
    life++
    model.history.crash()
    startLater()
  }

  async function copyTo(next: string): Promise<boolean> {
    const own = life
    const failures = machine.failures()
    const disk = machine.start()
    try {
      const source = await jsonFileStorage(path, { disk, onError() {} })
      const target = await jsonFileStorage(next, { disk, onError() {} })
      await target.restore(await source.dump())
      await target.close()
      await source.close()
    } catch (error) {
      if (own !== life) return false
      const { message } = error as Error
      ensure(machine.failures() > failures, 'file.opens', () => `copy: ${message}`)
      machine.kill()
      return false
    }
    return true
  }

  function addKey(id: string): string {
    const key = `key-${++keys}-of-${id.replace(' ', '-')}`
    const old = [...model.keys].filter(([, record]) => record.id === id)
    const limits = setting.actors.find(({ name }) => name === id)?.limits
    if (!limits) throw new Error(`Nobody is called ${id}`)
    model.keys.set(key, { id, policy: limits })
    running?.store.apiKeys.add(key, { id, plan: 'enterprise', limits })
    for (const [other] of old) {
      scheduler.after('key removed', GRACE, () => {
        model.keys.delete(other)
        running?.store.apiKeys.remove(other)
      })
    }
    return key
  }

  async function finish(): Promise<void> {
    if (!running) throw new Error('No process to finish')
    await close(running.storage)
    running = undefined
    model.history.crash()
    const { storage } = await open(path)
    await checkContent(storage)
    await storage.close()
    // After a rename that failed and happened, it takes its own document for a foreign one.
    const isConflict = (name: string) => name.includes('.conflict-') && machine.failures() > 0
    const beside = `${path.slice('/data/'.length)}.`
    const all = await machine.names()
    const names = all.filter(name => name.startsWith(beside) && !isConflict(name))
    ensure(names.length === 0, 'file.tidy', () => `the folder still holds ${names.join(', ')}`)
  }
}

/** For the trace. */
function lineOf({ from, method, target }: WireRequest, { status, headers }: WireResponse): string {
  const shown = ['x-ratelimit-remaining', 'retry-after', 'location', 'idempotent-replayed']
  const told = shown.map(name => headers[name] ?? '-')
  return `${from} ${method} ${target} -> ${status} ${told.join(' ')}`
}

/** The process has died before it answered. */
const NEVER = new Promise<never>(() => {})

async function readAnswer(store: Store, request: WireRequest): Promise<WireResponse> {
  const [path = '', query = ''] = request.target.split('?')
  const { method, headers, body } = request
  const given: ApiRequest = { method, path, query, headers, body }
  const { status, headers: own, body: text } = await store.handle(given)
  return { status, headers: lowerCase(Object.entries(own)), body: text }
}

async function readResponse(answering: Promise<Response>): Promise<WireResponse> {
  const response = await answering
  const { status, headers } = response
  return { status, headers: lowerCase(headers), body: await response.text() }
}

function lowerCase(headers: Iterable<[string, string]>): Record<string, string> {
  return Object.fromEntries([...headers].map(([name, value]) => [name.toLowerCase(), value]))
}

function toRequest({ method, target, headers, body, isCut }: WireRequest): Request {
  const url = `http://store.test${target}`
  if (!isCut || body === undefined) {
    return new Request(url, { method, headers, ...(body !== undefined && { body }) })
  }
  const bytes = new TextEncoder().encode(body)
  const half = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(bytes.subarray(0, bytes.length >> 1)),
    pull: controller => controller.error(new TypeError('terminated')),
  })
  const init = { method, headers, body: half, duplex: 'half' } as const
  return new Request(url, init as RequestInit)
}
