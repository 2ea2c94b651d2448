import {
  type ApiKey,
  createStore,
  type Pet,
  type PetSnapshot,
  type Store,
} from '../../src/index.js'
import { createDoor } from './door.js'
import { type Backend, createFileEngine } from './file-engine.js'
import type { SavedKeys } from './model/keys.js'
import { seen } from './model/pets.js'
import type { KeyRecord } from './model/state.js'
import type { WireRequest, WireResponse } from './network.js'
import { DEFAULTS, type Setting, usualBanAfter, withoutDefaults } from './scenario.js'
import type { Happenings, Stage } from './stage.js'
import { ensure, Violation } from './violation.js'

export type ServerLife = ReturnType<typeof createServer>

interface Process {
  readonly store: Store
  readonly backend: Backend
  serve(request: WireRequest): Promise<WireResponse>
}

/** A snapshot, and what the model knew then. */
interface Saved {
  readonly pets: PetSnapshot
  readonly keys: SavedKeys
}

/** Time in which a supervisor restarts a process. */
const START = { least: 1, most: 2_000 }
/** Validity of a client's old key after its replacement. */
const GRACE = 60_000

/** The server through all of its processes: they come back by themselves. */
export function createServer(options: Stage) {
  const { setting, scheduler, model, clock, note, fail, trace } = options
  const engine = createFileEngine(options)
  const waiting = new Set<() => void>()
  /** Counts the processes; also when one ends. */
  let life = 0
  let running: Process | undefined
  /** The task of the host, which it does not interrupt. */
  let task: { readonly name: string } | undefined
  let saved: Saved = { pets: { pets: [], nextId: 1 }, keys: new Map() }
  /**
   * Restores that have not ended, or failed and the disk kept the storage from undoing them: if the process
   * dies before the next change, any of them may have happened, or none.
   */
  let restoring: readonly Saved[] = []
  let keys = 0
  startLater()

  return {
    ...engine,
    /** Undefined while nobody listens. */
    handle: (request: WireRequest): Promise<WireResponse> | undefined => running?.serve(request),
    happenings: {
      ...engine.happenings,
      kill: ({ calls, when, call }) => engine.atCall(calls, when, () => died(engine.kill), call),
      'power-cut': ({ calls, when, call }) =>
        engine.atCall(calls, when, () => died(engine.cutPower), call),
      'disk-full'({ ms }) {
        engine.setFull(true)
        scheduler.after('disk is free', ms, () => engine.setFull(false))
      },
      // Acts of the host on its own store. They do nothing while there is none.
      restart: () => host('restart', restart),
      snapshot: () => host('snapshot', snapshot),
      restore: () => host('restore', restore),
    } as Partial<Happenings>,
    addKey,
    /** Resolves once it listens. */
    ready: () =>
      running && !task ? Promise.resolve() : new Promise<void>(resolve => waiting.add(resolve)),
    finish,
  }

  function callWaiting(): void {
    if (!running || task) return
    for (const resolve of waiting) resolve()
    waiting.clear()
  }

  /** New processes are started soon. Whether a restore has happened is seen when the file is opened again. */
  function died(how: () => void): void {
    how()
    note('crash')
    stopped()
    startLater()
    task = undefined
  }

  function stopped(): void {
    life++
    running = undefined
    model.state.crash()
  }

  function startLater(): void {
    const own = ++life
    scheduler.later('start', START, () => {
      if (own === life) void start().catch(fail)
    })
  }

  async function start(): Promise<void> {
    const own = life
    const failures = engine.failures('open')
    const process = await open().catch(error => {
      if (error instanceof Violation) throw error
      if (own !== life) return undefined
      note('refused to open')
      const { message } = error as Error
      ensure(engine.failures('open') > failures, 'file.opens', () => message)
      startLater()
      return undefined
    })
    if (!process || own !== life) return
    note('start')
    running = process
    callWaiting()
  }

  async function open(): Promise<Process> {
    const own = life
    const backend = await engine.open()
    const { storage, rateLimitStore } = backend
    const given = { ...storeOptions(setting, model.state.keys), storage, clock, rateLimitStore }
    const store = createStore(given)
    store.events.on('*', model.announce)
    const ask = createDoor(setting.door, store)
    const process = { store, backend, serve }
    if (own !== life) return process
    await checkContent(backend)
    await backend.begin()
    return process

    async function serve(request: WireRequest): Promise<WireResponse> {
      const check = model.expect(request, clock())
      const response = await ask(request)
      if (own !== life) return never()
      try {
        check(response)
      } catch (error) {
        fail(error)
      }
      if (response.status === 201 && task?.name !== 'restore') restoring = []
      note(String(response.status))
      trace(lineOf(request, response))
      return response
    }
  }

  /** Everything that was there before is there, and is all. */
  async function checkContent(backend: Backend): Promise<void> {
    const { pets, nextId, idempotencyKeys = [] } = await backend.storage.dump()
    const present = new Set(pets.map(({ id, name }) => `${id} ${name}`))
    const isPresent = ({ id, name }: Pick<Pet, 'id' | 'name'>) => present.has(`${id} ${name}`)
    const isOld = [...model.state.history.pets.values()].every(isPresent)
    const restored = mostOf(restoring.filter(({ pets }) => pets.pets.every(isPresent)))
    if (!isOld && restored) replaced(restored, pets)
    restoring = []
    model.state.history.reopen(pets.map(seen), nextId)
    const found = new Map(
      idempotencyKeys.map(({ scope, idempotencyKey, petId }) => [
        `${scope} ${idempotencyKey}`,
        petId,
      ]),
    )
    for (const [key, id] of model.state.used.inUse()) {
      const message = () => `the key of animal ${id} is that of ${found.get(key)} after reopening`
      ensure(found.get(key) === id, 'animals.once', message)
    }
  }

  function host(name: string, work: Work): void {
    if (!running || task) return
    const own = { name }
    task = own
    note(name)
    const isOver = () => own !== task
    const end = () => {
      if (isOver()) return
      task = undefined
      callWaiting()
    }
    work(running.backend, isOver).then(end, error => {
      if (!isOver()) fail(error)
      end()
    })
  }

  async function restart(_: Backend, isOver: () => boolean): Promise<void> {
    await close(true)
    if (!isOver()) startLater()
  }

  /** Closing rejects only if the disk fails; then the journal keeps what the document lacks. */
  async function close(keeps = false): Promise<void> {
    const own = life
    const failures = engine.failures('open')
    const { backend } = running ?? {}
    running = undefined
    await backend?.close(keeps).catch(error => {
      if (error instanceof Violation) throw error
      if (own !== life) return
      const isExcused = engine.failures('open') > failures
      ensure(isExcused, 'storage.available', () => `close: ${error.message}`)
    })
    if (own !== life) return
    if (backend && engine.failures('open') === failures) await checkTidy()
    if (own === life) stopped()
  }

  /** A closed storage leaves nothing beside its file. */
  async function checkTidy(): Promise<void> {
    const names = await engine.leftovers()
    ensure(names.length === 0, 'file.tidy', () => `the folder still holds ${names.join(', ')}`)
  }

  async function snapshot({ storage }: Backend): Promise<void> {
    saved = { pets: await storage.dump(), keys: model.state.used.save() }
  }

  async function restore({ storage }: Backend, isOver: () => boolean): Promise<void> {
    const restored = saved
    restoring = [...restoring, restored]
    const failures = engine.failures('create')
    try {
      await storage.restore(restored.pets)
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
    replaced(restored, (await storage.dump()).pets)
    restoring = []
  }

  function replaced({ pets, keys }: Saved, found: readonly Pet[]): void {
    model.state.history.replace(found.map(seen), pets.pets.map(seen), pets.nextId)
    model.state.used.replace(keys)
  }

  function addKey(id: string, expiresIn: number | null = null): string {
    const old = [...model.state.keys].filter(([, record]) => record.id === id)
    const [key, record] = newKey(++keys, id, expiresIn, options)
    model.state.keys.set(key, record)
    running?.store.apiKeys.add(key, apiKeyOf(record))
    for (const [other] of old) {
      scheduler.after('key removed', GRACE, () => {
        model.state.keys.delete(other)
        running?.store.apiKeys.remove(other)
      })
    }
    return key
  }

  /** Closes everything, opens what the last process left, and looks at the folder. */
  async function finish(): Promise<void> {
    await close()
    const { backend } = await open()
    await backend.close(false)
    await checkTidy()
  }
}

type Work = (backend: Backend, isOver: () => boolean) => Promise<void>

function storeOptions(setting: Setting, keys: ReadonlyMap<string, KeyRecord>) {
  const { options, idempotencyMs, anonymous } = setting
  return {
    ...withoutDefaults(options, DEFAULTS),
    ...(anonymous && { plans: { anonymous } }),
    apiKeys: Object.fromEntries([...keys].map(([key, record]) => [key, apiKeyOf(record)])),
    idempotency: idempotencyMs === null ? null : { ttl: idempotencyMs },
  }
}

function newKey(
  number: number,
  id: string,
  expiresIn: number | null,
  { setting, clock }: Pick<Stage, 'setting' | 'clock'>,
): [key: string, record: KeyRecord] {
  const policy = setting.actors.find(({ name }) => name === id)?.limits
  if (!policy) throw new Error(`Nobody is called ${id}`)
  const expires = expiresIn === null ? undefined : clock() + expiresIn
  return [`key-${number}-of-${id.replaceAll(' ', '-')}`, { id, policy, expires }]
}

function apiKeyOf({ id, policy, expires: expiresAt }: KeyRecord): ApiKey {
  const { plan, banAfterRejections, ...rates } = policy
  if (plan) return { id, plan, expiresAt }
  const isUsual = banAfterRejections === usualBanAfter(rates.perMinute)
  const limits = isUsual ? rates : { ...rates, banAfterRejections }
  return { id, plan: 'enterprise', limits, expiresAt }
}

/** An empty snapshot fits any content. */
function mostOf(saved: readonly Saved[]): Saved | undefined {
  return saved.toSorted((a, b) => a.pets.pets.length - b.pets.pets.length).at(-1)
}

/** For the trace. */
function lineOf({ from, method, target }: WireRequest, { status, headers }: WireResponse): string {
  const shown = ['x-ratelimit-remaining', 'retry-after', 'location', 'idempotent-replayed']
  const told = shown.map(name => headers[name] ?? '-')
  return `${from} ${method} ${target} -> ${status} ${told.join(' ')}`
}

/** The process has died before it answered. Not one promise for all, as it would keep who waits for it. */
function never(): Promise<never> {
  return new Promise(() => {})
}
