import { createHash } from 'node:crypto'
import {
  type ApiKey,
  createStore,
  type Pet,
  type PetSnapshot,
  type Store,
} from '../../src/index.js'
import { createDoor, type Door } from './door.js'
import type { Backend, CreateEngine, Engine, Happenings, Stage } from './engine.js'
import type { Expectation } from './model/api.js'
import type { SavedKeys } from './model/keys.js'
import { seen } from './model/pets.js'
import type { KeyRecord } from './model/state.js'
import type { WireRequest, WireResponse } from './network.js'
import { choicesOf } from './random.js'
import { DEFAULTS, type Setting, usualBanAfter, withoutDefaults } from './scenario.js'
import { ensure, Violation } from './violation.js'
import { ensureChecked, ensureRefused, spoiltSnapshot } from './wrong-input.js'

/** What the world knows of a server. */
export interface ServerLife
  extends Pick<Engine, 'processes' | 'restMs' | 'heal' | 'failures' | 'dispose'> {
  /** Undefined while nobody listens. */
  handle(request: WireRequest): Promise<WireResponse> | undefined
  /** Those of that id before it are removed later. */
  addKey(id: string, expiresIn?: number | null): string
  /** What happens to it besides requests. */
  readonly happenings: Partial<Happenings>
  /** Resolves once all of it listens. */
  ready(): Promise<void>
  /** Closes everything, and looks at what is left. */
  finish(): Promise<void>
}

export type CreateServer = (options: Stage) => Promise<ServerLife>

/** A server with that storage. */
export function withStorage(create: CreateEngine): CreateServer {
  return async options => {
    let interrupt = (_process: number) => {}
    const engine = await create({ ...options, interrupt: process => interrupt(process) })
    const server = createServerLife(options, engine)
    interrupt = server.interrupt
    return server
  }
}

/** A place for a process, one after the other. */
interface Place {
  readonly number: number
  /** Which of them it is. */
  life: number
  /** From before it serves until it has closed everything, or is dead. */
  isOpen: boolean
  running: Process | undefined
  /** Through which it is asked, until it is dead. */
  door: Door | undefined
}

interface Process {
  readonly store: Store
  readonly backend: Backend
  readonly serve: Serve
  /** At once, without the door. */
  readonly serveNow: Serve
}

type Serve = (request: WireRequest) => Promise<WireResponse>

/** A snapshot, and what the model knew then. */
interface Saved {
  readonly pets: PetSnapshot
  readonly keys: SavedKeys
}

/** What the host is doing, which it does not interrupt. */
interface Task {
  readonly name: string
  readonly places: readonly Place[]
}

/** How long a supervisor takes to start a process again. */
export const START = { least: 1, most: 2_000 }
/** How long requests under way may keep a server from closing, in ms. */
const LONGEST_DRAIN = 20_000
/** How long the old key of a client stays valid. */
const GRACE = 60_000
/** Sends requests between two statements of another process; the name is also its key. */
const INTERRUPTER = 'interrupter'
/** Waiting for a lock takes many statements. */
const MOST_INTERRUPTIONS = 200
const UNLIMITED = { perMinute: 1_000_000, perDay: 100_000_000, banAfter: 10 }

/** The server through all of its processes: they come back by themselves. */
function createServerLife(options: Stage, engine: Engine) {
  const { seed, setting, scheduler, model, clock, note, fail, trace } = options
  const waiting = new Set<() => void>()
  const places: readonly Place[] = Array.from({ length: engine.processes }, (_, number) => ({
    ...{ number, life: 0, isOpen: false, running: undefined, door: undefined },
  }))
  /** Whether nothing has been opened since everything ended. */
  let isFresh = true
  let task: Task | undefined
  let tasks = 0
  let requests = 0
  let saved: Saved = { pets: { pets: [], nextId: 1 }, keys: new Map() }
  /**
   * Restores that have not ended, or failed and the disk kept the storage from undoing them: if the process
   * dies before the next change, any of them may have happened, or none.
   */
  let restoring: readonly Saved[] = []
  let keys = 0
  let interruptions = 0
  if (setting.sqlite) model.state.keys.set(INTERRUPTER, { id: INTERRUPTER, policy: UNLIMITED })
  for (const place of places) startLater(place)

  return {
    ...engine,
    handle(request: WireRequest): Promise<WireResponse> | undefined {
      const running = places.filter(place => place.running)
      if (running.length === 0) return undefined
      const place = choicesOf(seed, 'process', ++requests).pick(running)
      return place.running?.serve(request)
    },
    happenings: {
      ...engine.happenings,
      kill: ({ calls, when, call }) => engine.atCall(calls, when, kill, call),
      'power-cut': ({ calls, when, call }) =>
        engine.atCall(calls, when, () => died(engine.cutPower()), call),
      'disk-full'({ ms }) {
        engine.setFull(true)
        scheduler.after('disk is free', ms, () => engine.setFull(false))
      },
      // What the host does with its own store. They do nothing while there is none.
      restart: () => host('restart', onePlace(), restart),
      snapshot: () => host('snapshot', onePlace(), snapshot),
      restore: () => host('restore', onePlace(), restore),
      swap: () => host('swap', places, swap),
    } as Partial<Happenings>,
    addKey,
    interrupt,
    ready: () =>
      isReady() ? Promise.resolve() : new Promise<void>(resolve => waiting.add(resolve)),
    finish,
  }

  /** New processes are started soon. Whether a restore has happened is seen when everything is opened again. */
  function kill(): void {
    died(engine.kill(task?.name === 'restore'))
  }

  function isReady(): boolean {
    return !task && places.every(({ running }) => running)
  }

  function callWaiting(): void {
    if (!isReady()) return
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  function died(numbers: readonly number[]): void {
    if (numbers.length === 0) return
    note('crash')
    const dead = places.filter(({ number }) => numbers.includes(number))
    for (const place of dead) {
      stopped(place)
      startLater(place)
    }
    if (task?.places.some(place => dead.includes(place))) task = undefined
  }

  function stopped(place: Place): void {
    place.life++
    place.isOpen = false
    place.running = undefined
    place.door?.destroy()
    place.door = undefined
    if (places.some(({ isOpen }) => isOpen)) return
    isFresh = true
    model.state.crash()
  }

  function startLater(place: Place): void {
    const own = ++place.life
    scheduler.later('start', START, () => {
      if (own === place.life) void start(place).catch(fail)
    })
  }

  async function start(place: Place): Promise<void> {
    const own = place.life
    const failures = engine.failures('open')
    const process = await open(place).catch(error => {
      if (error instanceof Violation) throw error
      if (own !== place.life) return undefined
      note('refused to open')
      const { message } = error as Error
      ensure(engine.failures('open') > failures, 'file.opens', () => message)
      startLater(place)
      return undefined
    })
    if (!process || own !== place.life) return
    note('start')
    place.running = process
    callWaiting()
  }

  async function open(place: Place): Promise<Process> {
    const life = place.life
    const backend = await engine.open(place.number)
    const { storage, rateLimits } = backend
    const own = { storage, clock, rateLimits }
    const given = { ...storeOptions(setting, model.state.keys), ...own }
    const store = createStore(given)
    ensureChecked(createStore, given, choicesOf(seed, 'wrong store', life)).catch(fail)
    store.events.on('*', model.announce)
    const serve = (kind: Setting['door']) => createServe(place, store, backend, kind)
    const [through, now] = [await serve(setting.door), await serve('handle')]
    const process = { store, backend, serve: through.serve, serveNow: now.serve }
    if (life !== place.life) return process
    place.door = through.door
    const isFirst = isFresh
    isFresh = false
    place.isOpen = true
    await checkContent(backend, isFirst)
    await backend.begin(store, isFirst)
    return process
  }

  async function createServe(
    place: Place,
    store: Store,
    backend: Backend,
    kind: Setting['door'],
  ): Promise<{ readonly door: Door; readonly serve: Serve }> {
    const expectations = new Map<WireRequest, Expectation>()
    const own = place.life
    const door = await createDoor(kind, store, {
      ...{ seed: `${seed} ${place.number}.${own}`, scheduler, fail },
      decide(request, answer) {
        const expected = model.expect(request, clock())
        expectations.set(request, expected)
        return backend.admit(expected, answer, request.from)
      },
    })
    const serve: Serve = async given => {
      // It may arrive twice.
      const request = { ...given }
      const response = await door.answer(request).catch(error => {
        if (own !== place.life) return never()
        throw error
      })
      if (own !== place.life) return never()
      try {
        expectations.get(request)?.check(response)
        expectations.delete(request)
      } catch (error) {
        fail(error)
      }
      if (response.status === 201 && task?.name !== 'restore') restoring = []
      note(String(response.status))
      trace(lineOf(request, response))
      return response
    }
    return { door, serve }
  }

  /** Everything that was there before is there, and is all. */
  async function checkContent(backend: Backend, isFirst: boolean): Promise<void> {
    const seeing = model.state.history.read()
    const { pets, nextId, idempotencyKeys = [] } = await backend.content()
    if (isFirst) {
      const present = new Set(pets.map(({ id, name }) => `${id} ${name}`))
      const isPresent = ({ id, name }: Pick<Pet, 'id' | 'name'>) => present.has(`${id} ${name}`)
      const isOld = [...model.state.history.pets.values()].every(isPresent)
      const restored = mostOf(restoring.filter(({ pets }) => pets.pets.every(isPresent)))
      if (!isOld && restored) replaced(restored, pets)
      restoring = []
      model.state.history.reopen(pets.map(seen), nextId)
    } else {
      seeing.listed({ limit: pets.length + 1 }, pets.map(seen))
    }
    const found = new Map(
      idempotencyKeys.map(({ scope, key, petId }) => [`${scope} ${key}`, petId]),
    )
    for (const [key, id] of model.state.used.inUse()) {
      const message = () => `the key of animal ${id} is that of ${found.get(key)} after reopening`
      ensure(found.get(key) === id, 'animals.once', message)
    }
  }

  /** One that runs, or none. */
  function onePlace(): readonly Place[] {
    const running = places.filter(place => place.running)
    return running.length === 0 ? [] : [choicesOf(seed, 'host', tasks).pick(running)]
  }

  function host(name: string, needed: readonly Place[], work: Work): void {
    const isRunning = needed.length > 0 && needed.every(({ running }) => running)
    if (!isRunning || task) return
    const own: Task = { name, places: needed }
    tasks++
    task = own
    note(name)
    const isOver = () => own !== task
    const end = () => {
      if (isOver()) return
      task = undefined
      callWaiting()
    }
    work(needed, isOver).then(end, error => {
      if (!isOver()) fail(error)
      end()
    })
  }

  async function restart(all: readonly Place[], isOver: () => boolean): Promise<void> {
    for (const place of all) {
      await close(place, true)
      if (!isOver()) startLater(place)
    }
  }

  /** Closing rejects only if the disk fails; then the journal keeps what the document lacks. */
  async function close(place: Place, keeps = false): Promise<void> {
    const own = place.life
    const failures = engine.failures('open')
    const { backend } = place.running ?? {}
    place.running = undefined
    const begun = scheduler.now()
    await place.door?.close()
    if (own !== place.life) return
    const ms = scheduler.now() - begun
    ensure(ms <= LONGEST_DRAIN, 'client.ends', () => `the server drained for ${ms} ms`)
    await backend?.close(keeps).catch(error => {
      if (error instanceof Violation) throw error
      if (own !== place.life) return
      const isExcused = engine.failures('open') > failures
      ensure(isExcused, 'storage.available', () => `close: ${error.message}`)
    })
    if (own !== place.life) return
    if (backend && places.length === 1 && engine.failures('open') === failures) await checkTidy()
    if (own === place.life) stopped(place)
  }

  /** A closed storage leaves nothing beside its file. */
  async function checkTidy(): Promise<void> {
    const names = await engine.leftovers()
    ensure(names.length === 0, 'file.tidy', () => `the folder still holds ${names.join(', ')}`)
  }

  async function snapshot([place]: readonly Place[]): Promise<void> {
    const pets = await backendOf(place).content()
    saved = { pets, keys: model.state.used.save() }
  }

  async function restore([place]: readonly Place[], isOver: () => boolean): Promise<void> {
    const backend = backendOf(place)
    const restored = saved
    restoring = [...restoring, restored]
    const failures = engine.failures('create')
    const spoilt = spoiltSnapshot(restored.pets, choicesOf(seed, 'spoilt', tasks))
    try {
      await ensureRefused(() => backend.storage.restore(spoilt))
      await backend.storage.restore(restored.pets)
    } catch (error) {
      if (error instanceof Violation) throw error
      if (isOver()) return
      note('restore failed')
      const { message } = error as Error
      const isExcused = engine.failures('create') > failures
      ensure(isExcused, 'storage.available', () => `restore: ${message}`)
      return
    }
    if (isOver()) return
    replaced(restored, (await backend.content()).pets)
    restoring = []
  }

  function replaced({ pets, keys }: Saved, found: readonly Pet[]): void {
    model.state.history.replace(found.map(seen), pets.pets.map(seen), pets.nextId)
    model.state.used.replace(keys)
  }

  /** Goes on with a copy in a new file, made as the command `copy` does. */
  async function swap(all: readonly Place[], isOver: () => boolean): Promise<void> {
    const closed = new Map<Place, number>()
    for (const place of all) {
      if (isOver()) break
      const before = place.life
      await close(place)
      if (place.life === before + 1) closed.set(place, place.life)
    }
    if (!isOver()) await copy(isOver)
    // Those that have died since start by themselves.
    for (const [place, life] of closed) if (place.life === life) startLater(place)
  }

  async function copy(isOver: () => boolean): Promise<void> {
    const failures = engine.failures('open')
    await engine.copy().catch(error => {
      if (isOver()) return
      ensure(engine.failures('open') > failures, 'file.opens', () => `copy: ${error.message}`)
    })
  }

  /** Has another process than this one handle a request at once, if one runs. */
  function interrupt(number: number): void {
    const other = places.find(place => place.running && place.number !== number)?.running
    if (!other || interruptions === MOST_INTERRUPTIONS) return
    note('interruption')
    const name = `${INTERRUPTER} ${++interruptions}`
    const pet = { name, categoryId: 1 }
    model.register(pet)
    const common = { from: INTERRUPTER, address: 'local', isCut: false, target: '/v1/pets' }
    const headers = { authorization: `Bearer ${INTERRUPTER}`, 'content-type': 'application/json' }
    const isCreate = interruptions % 2 === 0
    void other.serveNow(
      isCreate
        ? { ...common, method: 'POST', headers, body: JSON.stringify(pet) }
        : { ...common, method: 'GET', headers, body: undefined },
    )
  }

  function addKey(id: string, expiresIn: number | null = null): string {
    const old = [...model.state.keys].filter(([, record]) => record.id === id)
    const [key, record] = newKey(++keys, id, expiresIn, options)
    model.state.keys.set(key, record)
    const [name, apiKey] = apiKeyOf(key, record, setting)
    for (const { running } of places) running?.store.apiKeys.add(name, apiKey)
    for (const [other] of old) {
      scheduler.after('key removed', GRACE, () => {
        model.state.keys.delete(other)
        for (const { running } of places) running?.store.apiKeys.remove(nameOf(other, setting))
      })
    }
    return key
  }

  /** Also opens what the last processes left, and looks at the folder. */
  async function finish(): Promise<void> {
    for (const place of places) await close(place)
    const [place] = places as [Place]
    const { backend } = await open(place)
    await backend.close(false)
    await checkTidy()
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The actor that an id of a key belongs to. */
export function customerOf(id: string): string {
  return id.replace(/ #\d+$/, '')
}

type Work = (places: readonly Place[], isOver: () => boolean) => Promise<void>

function backendOf(place: Place | undefined): Backend {
  if (!place?.running) throw new Error('No process runs here')
  return place.running.backend
}

/** What all servers are given. */
export function storeOptions(setting: Setting, keys: ReadonlyMap<string, KeyRecord>) {
  const { options, idempotencyMs, anonymous, hashesKeys } = setting
  return {
    ...withoutDefaults(options, DEFAULTS),
    ...(anonymous && { plans: { anonymous } }),
    ...(hashesKeys && { sha256 }),
    apiKeys: Object.fromEntries([...keys].map(([key, record]) => apiKeyOf(key, record, setting))),
    idempotency: idempotencyMs === null ? null : { ttlMs: idempotencyMs },
  }
}

export function newKey(
  number: number,
  id: string,
  expiresIn: number | null,
  { setting, clock }: Pick<Stage, 'setting' | 'clock'>,
): [key: string, record: KeyRecord] {
  const policy = setting.actors.find(({ name }) => name === customerOf(id))?.limits
  if (!policy) throw new Error(`Nobody is called ${id}`)
  const expires = expiresIn === null ? undefined : clock() + expiresIn
  return [`key-${number}-of-${id.replaceAll(/[ #]+/g, '-')}`, { id, policy, expires }]
}

/** What a store is given. */
export function apiKeyOf(
  key: string,
  { id, policy, expires }: KeyRecord,
  setting: Setting,
): [name: string, apiKey: ApiKey] {
  const { plan, banAfter, ...rates } = policy
  const limits = banAfter === usualBanAfter(rates.perMinute) ? rates : { ...rates, banAfter }
  const name = nameOf(key, setting)
  return [name, plan ? { id, plan, expires } : { id, plan: 'enterprise', limits, expires }]
}

/** Some hosts know only the digests of keys. */
function nameOf(key: string, { hashesKeys }: Setting): string {
  return hashesKeys ? `sha256:${sha256(key)}` : key
}

/** An empty snapshot fits any content. */
function mostOf(saved: readonly Saved[]): Saved | undefined {
  return saved.toSorted((a, b) => a.pets.pets.length - b.pets.pets.length).at(-1)
}

/** For the trace. */
export function lineOf(
  { from, method, target }: WireRequest,
  { status, headers }: WireResponse,
): string {
  const shown = ['x-ratelimit-remaining', 'retry-after', 'location', 'idempotent-replayed']
  const told = shown.map(name => headers[name] ?? '-')
  return `${from} ${method} ${target} -> ${status} ${told.join(' ')}`
}

/** The process has died before it answered. Not one promise for all, as it would keep who waits for it. */
function never(): Promise<never> {
  return new Promise(() => {})
}
