import { jsonFileStorage } from '../../../adapters/stores/json-file/index.js'
import { streamOf } from '../../../adapters/stores/kit/pet-stream.js'
import { sqliteRateLimits, sqliteStorage } from '../../../adapters/stores/sqlite/index.js'
import { simulatedDisk } from '../../crash/simulated-disk.js'
import type { Backend, Engine, EngineOptions } from '../engine.js'
import { choicesOf } from '../random.js'
import type { SqliteSetting } from '../scenario.js'
import { ensure } from '../violation.js'
import { type Counted, createCounts } from './counts.js'
import { type NotCounted, watchLimits } from './limits.js'
import { createSqliteMachine, type SqliteProcess } from './machine.js'

/** The number of the process that copies, which serves nothing. */
const COPIER = -1
/** Above every pid that a system gives, so that nobody is taken for alive. */
const NO_PROCESS = 5_000_000

/** Some processes that share a SQLite file for animals and counts, or one for each. */
export async function createSqliteEngine(options: EngineOptions): Promise<Engine> {
  const { seed, scheduler, model, setting, note, fail } = options
  const sqlite = setting.sqlite as SqliteSetting
  const counts = createCounts(model.state.limits)
  const machine = createSqliteMachine(options, onSync)
  const { files, calls } = machine
  const everyone = Array.from({ length: sqlite.processes }, (_, number) => number)
  let animals = 'pets-1.sqlite'
  let copies = 1
  let locks = 0
  /** How often requests that were under way may have found everything closed. */
  let closed = 0
  /** What a crash of everything leaves open until it is opened again. */
  let crash: { readonly asked: readonly Counted[]; readonly isCut: boolean } | undefined

  return {
    processes: sqlite.processes,
    // The protection of the limiter looks at its clock now and then.
    restMs: 1_000,
    async open(number) {
      const process = machine.start(number)
      return openBackend(process).catch(error => {
        machine.end(process)
        throw error
      })
    },
    async copy() {
      const copier = machine.start(COPIER)
      const next = `pets-${++copies}.sqlite`
      try {
        await copyTo(next, copier)
        if (copier.isDead) return
        animals = next
        if (sqlite.ownLimits) return
        model.state.limits.forget()
        counts.clear()
      } finally {
        machine.end(copier)
      }
    },
    async leftovers() {
      // Another process has a file open.
      if (machine.isLocked()) return []
      const beside = [animals, limitsName()].map(name => `${name}-`)
      return files.names().filter(name => beside.some(start => name.startsWith(start)))
    },
    atCall: (count, when, task) => calls.atCall(count, when, task),
    kill(isAll) {
      const dying = calls.caller()
      if (isAll || !dying || machine.living().length <= 1) return endAll(false)
      machine.end(dying)
      if (!crash) attempt(() => recover([...dying.asked], false))
      return [dying.number]
    },
    cutPower: () => endAll(true),
    setFull: machine.setFull,
    heal() {
      calls.heal()
      machine.setFull(false)
      machine.unlock()
    },
    failures(what) {
      const { all, lasting } = calls.failures()
      if (what === 'open') return all + machine.longLocks()
      return closed + lasting + (what === 'create' ? machine.longLocks() : 0)
    },
    happenings: {
      'driver-fails': ({ calls: count, failure }) =>
        calls.atCall(count, 'before', () => calls.failNext(failure)),
      lock({ ms }) {
        note('lock')
        machine.lock(choicesOf(seed, 'lock', ++locks).pick([animals, limitsName()]), ms)
      },
    },
    dispose: machine.dispose,
  }

  function limitsName(): string {
    return sqlite.ownLimits ? 'limits.sqlite' : animals
  }

  function onSync(name: string): void {
    if (name === limitsName()) counts.synced()
  }

  function attempt(task: () => void): void {
    try {
      task()
    } catch (error) {
      fail(error)
    }
  }

  function endAll(isCut: boolean): readonly number[] {
    const asked = [...(crash?.asked ?? []), ...(calls.caller()?.asked ?? [])]
    crash = { asked, isCut: isCut || crash?.isCut === true }
    machine.endAll(isCut)
    return everyone
  }

  function recover(asked: readonly Counted[], isCut: boolean): void {
    if (!counts.recover(machine.usages(limitsName()), asked, isCut)) note('counts lost')
  }

  async function openBackend(process: SqliteProcess): Promise<Backend> {
    const openFor = <T>(task: () => T) => machine.openFor(process, task)
    const storage = await openFor(() => sqliteStorage(files.path(animals)))
    const limits = await openFor(() => sqliteRateLimits(files.path(limitsName())))
    return {
      ...watchLimits({ process, limits, counts, machine, scheduler, attempt }),
      storage: { ...storage, restore: (...given) => openFor(() => storage.restore(...given)) },
      async begin(store, isFirst) {
        store.events.on('ratelimit.degraded', ({ error }) => {
          const { message, decide } = error as NotCounted
          note('counted alone')
          const isPrompt = !message.includes('did not answer')
          attempt(() => ensure(isPrompt, 'storage.prompt', () => message))
          decide()
        })
        if (!isFirst) return
        recover(crash?.asked ?? [], crash?.isCut ?? false)
        crash = undefined
      },
      content: () => calls.quietly(() => storage.dump()),
      async close() {
        closed++
        await storage.close()
        await limits.close()
        machine.end(process)
      },
    }
  }

  /** To a JSON file, and from there to another SQLite file. */
  async function copyTo(next: string, copier: SqliteProcess): Promise<void> {
    const openFor = <T>(task: () => T) => machine.openFor(copier, task)
    const disk = simulatedDisk<never>({}, () => 0).as(NO_PROCESS)
    const openJson = () => jsonFileStorage('/data/pets.json', { disk })
    const source = await openFor(() => sqliteStorage(files.path(animals)))
    const json = await openJson()
    await openFor(() => source.stream(content => json.seed(content)))
    await source.close()
    await json.close()
    const again = await openJson()
    const target = await openFor(() => sqliteStorage(files.path(next)))
    const content = streamOf(await again.dump())
    const isSeeded = await openFor(() => target.seed(content))
    if (!isSeeded) throw new Error('The new file is not empty')
    await target.close()
    await again.close()
  }
}
