import {
  type JsonFileError,
  type JsonFileStorage,
  jsonFileStorage,
} from '../../adapters/stores/json-file/index.js'
import type { Disk } from '../../adapters/stores/kit/disk.js'
import { memoryRateLimitStore } from '../../adapters/stores/memory.js'
import type { RateLimitSnapshot } from '../../src/index.js'
import { ensureFewCounts, ensureFewKeys } from './bounds.js'
import { createMachine } from './disk.js'
import type { Happenings, Stage } from './stage.js'
import { Violation } from './violation.js'

const FOLDER = '/data/'
const IN_USE = /is in use by/

export type Backend = Awaited<ReturnType<ReturnType<typeof createFileEngine>['open']>>

/** A JSON file on a simulated disk, counts in memory, and what can go wrong with both. */
export function createFileEngine(options: Stage) {
  const { seed, setting, scheduler, model, note, fail } = options
  const machine = createMachine(seed, scheduler, setting.diskMs)
  const path = `${FOLDER}pets.json`
  const known: RateLimitSnapshot = setting.actors.flatMap(({ name, used }) =>
    used ? [[name, used]] : [],
  )
  let kept: RateLimitSnapshot | undefined = known
  model.state.limits.restore(known)
  let deaths = 0
  /** By the processes that have it open. */
  let held: readonly Disk[] = []
  let intruder: Promise<void> | undefined
  let refusals = 0

  return {
    ...machine,
    open,
    /** Files and handles that a closed storage should not have left behind. */
    async leftovers() {
      await intruder
      const beside = `${path.slice(FOLDER.length)}.`
      // A process that dies while it opens may leave an empty folder, which nothing reads.
      const isLock = (name: string) => name.startsWith(`${beside}lock.`)
      const names = await machine.names()
      const left = names.filter(name => name.startsWith(beside) && !isLock(name))
      const open = machine.handles()
      return open === 0 ? left : [...left, `${open} open files`]
    },
    kill: () => ended(machine.kill),
    cutPower: () => ended(machine.cutPower),
    /** Number of reasons for it to fail so far. */
    failures: (what: 'open' | 'create'): number =>
      machine.failures() + (what === 'open' ? refusals : 0),
    happenings: {
      'disk-fails': ({ calls, failure }) =>
        machine.atCall(calls, 'before', () => machine.failNext(failure), failure.call),
      'second-process': ({ calls, when, call }) => machine.atCall(calls, when, intrude, call),
    } as Partial<Happenings>,
  }

  function ended(how: () => void): void {
    how()
    deaths++
    kept = undefined
    held = []
    intruder = undefined
  }

  function exit(disk: Disk): void {
    machine.exit(disk)
    held = held.filter(other => other !== disk)
  }

  /** Another process opens the file, and closes it at once if it may. */
  function intrude(): void {
    if (intruder) return
    const before = deaths
    const failures = machine.failures()
    const disk = machine.start()
    const end = (outcome: string) => {
      if (deaths !== before) return
      note(`second process ${outcome}`)
      exit(disk)
      intruder = undefined
    }
    intruder = openFile(disk)
      .then(storage => storage.close())
      .then(
        () => end('was alone'),
        error => {
          const isExcused = machine.failures() > failures || IN_USE.test(error.message)
          if (!isExcused) fail(new Violation('file.opens', error.message))
          end('refused')
        },
      )
  }

  /** No two processes ever have the file open. */
  async function openFile(
    disk: Disk,
    report: (message: string) => void = () => {},
  ): Promise<JsonFileStorage> {
    const before = deaths
    const other = intruder
    const onError = (error: Error) => {
      checkText(error)
      report(error.message)
    }
    const storage = jsonFileStorage(path, { disk, onError })
    await storage.ready().catch(error => {
      exit(disk)
      checkText(error)
      if ((other || intruder) && IN_USE.test(error.message)) refusals++
      throw error
    })
    // A dead process goes on in this one.
    if (deaths !== before) return storage
    if (held.length > 0) fail(new Violation('file.alone', `${path} was opened twice`))
    held = [disk]
    return {
      ...storage,
      close() {
        held = held.filter(other => other !== disk)
        return storage.close()
      },
    }
  }

  /** It begins with the file that it is about. */
  function checkText(error: Error): void {
    const { path = '', message } = error as Partial<JsonFileError> & Error
    const isRight = message.startsWith(path) && !/\b0 bytes|undefined/.test(message)
    const isNamed = path !== '' && !message.includes(`opened: ${path}`)
    if (!isRight || !isNamed)
      fail(new Violation('file.opens', `an error of ${path} says: ${message}`))
  }

  /** Opens all that a process needs. Rejects as the adapters do. */
  async function open() {
    const before = deaths
    const disk = machine.start()
    const storage = await openFile(
      disk,
      message =>
        // A dead process goes on in this one, and finds the document of the next.
        deaths === before &&
        note(message.replace(/.*(could not be compacted|unfinished write).*/s, '$1')),
    )
    const rateLimitStore = memoryRateLimitStore()
    const { idempotencyKeys: opened = [] } = await storage.dump()
    return {
      storage,
      rateLimitStore,
      /** Before the process serves. */
      async begin() {
        if (kept) await rateLimitStore.restore(kept)
        else model.state.limits.forget()
        kept = undefined
      },
      /** @param keeps whether the counts are to be found again when it is opened */
      async close(keeps: boolean) {
        ensureFewCounts(await rateLimitStore.dump(), setting)
        ensureFewKeys(await storage.dump(), opened.length, setting)
        const before = deaths
        try {
          await storage.close()
        } finally {
          exit(disk)
        }
        if (deaths === before && keeps && setting.keepsLimits) kept = await rateLimitStore.dump()
      },
    }
  }
}
