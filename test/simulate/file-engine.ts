import {
  type JsonFileError,
  type JsonFileStorage,
  jsonFileStorage,
} from '../../adapters/stores/json-file/index.js'
import type { Disk } from '../../adapters/stores/kit/disk.js'
import { streamOf } from '../../adapters/stores/kit/pet-stream.js'
import { memoryRateLimits } from '../../adapters/stores/memory.js'
import { type RateLimitSnapshot, toJson } from '../../src/index.js'
import { crowdOf, ensureFewCounts, ensureFewKeys } from './bounds.js'
import { createMachine } from './disk.js'
import type { Backend, Engine, EngineOptions } from './engine.js'
import { choicesOf } from './random.js'
import { remoteLimits } from './remote-limits.js'
import { ensure, Violation } from './violation.js'
import { ensureRefused, spoiltSnapshot } from './wrong-input.js'

const FOLDER = '/data/'
const IN_USE = /is in use by process/

/** One process, a JSON file on a simulated disk, and counts in memory. */
export async function createFileEngine(options: EngineOptions): Promise<Engine> {
  const { seed, setting, scheduler, model, note, fail } = options
  const machine = createMachine(seed, scheduler, setting.diskMs)
  let path = `${FOLDER}pets.json`
  let files = 1
  const known: RateLimitSnapshot = setting.actors.flatMap(({ name, used }) =>
    used ? [[name, used]] : [],
  )
  let kept: RateLimitSnapshot | undefined = [...known, ...crowdOf(setting)]
  model.state.limits.restore(known, setting.isCrowded)
  let deaths = 0
  /** What processes have open. */
  let held: readonly { readonly name: string; readonly disk: Disk }[] = []
  let intruder: Promise<void> | undefined
  let refusals = 0
  /** How often requests that were waiting for the limiter may have found everything closed. */
  let closed = 0
  /** Nothing that a dead process has asked for is counted. */
  let closeRemote: (() => void) | undefined

  return {
    ...machine,
    processes: 1,
    // The protection of the limiter looks at its clock now and then.
    restMs: setting.isRemote ? 1_000 : 0,
    open,
    async copy() {
      const next = `${FOLDER}pets-${++files}.json`
      const before = deaths
      await copyTo(next)
      if (deaths === before) path = next
    },
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
    failures(what) {
      if (what === 'open') return machine.failures() + refusals
      return closed + (what === 'read' ? 0 : machine.failures())
    },
    happenings: {
      'disk-fails': ({ calls, failure }) =>
        machine.atCall(calls, 'before', () => machine.failNext(failure), failure.call),
      'second-process': ({ calls, when, call }) => machine.atCall(calls, when, intrude, call),
    },
  }

  function ended(how: () => void): readonly number[] {
    how()
    deaths++
    closeRemote?.()
    kept = undefined
    held = []
    intruder = undefined
    return [0]
  }

  function exit(disk: Disk): void {
    machine.exit(disk)
    held = held.filter(other => other.disk !== disk)
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
    intruder = openFile(path, disk)
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

  /** No two processes ever have the same file open. */
  async function openFile(
    name: string,
    disk: Disk,
    report: (message: string) => void = () => {},
  ): Promise<JsonFileStorage> {
    const before = deaths
    const other = intruder
    const onError = (error: Error) => {
      checkText(error)
      report(error.message)
    }
    const storage = await jsonFileStorage(name, { disk, onError }).catch(error => {
      exit(disk)
      checkText(error)
      if ((other || intruder) && IN_USE.test(error.message)) refusals++
      throw error
    })
    // A dead process goes on in this one.
    if (deaths !== before) return storage
    if (held.some(other => other.name === name))
      fail(new Violation('file.alone', `${name} was opened twice`))
    held = [...held, { name, disk }]
    return {
      ...storage,
      close() {
        held = held.filter(other => other.name !== name || other.disk !== disk)
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

  async function copyTo(next: string): Promise<void> {
    const disk = machine.start()
    try {
      const source = await openFile(path, disk)
      const target = await openFile(next, disk)
      const content = await source.dump()
      const choices = choicesOf(seed, 'spoilt', files)
      const spoilt = spoiltSnapshot(content, choices)
      await ensureRefused(() => target.seed(streamOf(spoilt)))
      await target.restore(content)
      await target.close()
      await source.close()
      await readSpoilt(Buffer.from(toJson(spoilt)), /`(pets\[\d+\]|nextId|idempotencyKeys)/)
      const damaged = await machine.quiet().readFile(next)
      const at = choices.below(damaged.length)
      damaged[at] = Number(damaged[at]) ^ 1
      await readSpoilt(damaged, /cannot be read|has changed/)
    } finally {
      exit(disk)
    }
  }

  /** What an editor or a disk has spoilt is refused or reported, with what is wrong. */
  async function readSpoilt(content: Uint8Array, reason: RegExp): Promise<void> {
    const name = `${FOLDER}spoilt.json`
    const disk = machine.quiet()
    const file = await disk.open(name, 'w')
    disk.writeSync(file, content, 0, content.length, 0)
    await disk.close(file)
    let told = ''
    const onError = (error: Error) => {
      checkText(error)
      told = error.message
    }
    const storage = await jsonFileStorage(name, { disk, onError }).catch(onError)
    await storage?.close()
    ensure(reason.test(told), 'input.checked', () => `of a spoilt document, it says ${told}`)
  }

  async function open(): Promise<Backend> {
    const before = deaths
    const disk = machine.start()
    const storage = await openFile(
      path,
      disk,
      message =>
        // A dead process goes on in this one, and finds the document of the next.
        deaths === before &&
        note(message.replace(/.*(could not be compacted|unfinished write).*/s, '$1')),
    )
    const rateLimits = memoryRateLimits()
    const remote = setting.isRemote ? remoteLimits(options, `${disk.pid}`, rateLimits) : undefined
    closeRemote = remote?.close
    const { idempotencyKeys: opened = [] } = await storage.dump()
    return {
      storage,
      rateLimits: remote?.rateLimits ?? rateLimits,
      async begin({ events }) {
        events.on('ratelimit.degraded', ({ error }) => {
          note('counted alone')
          remote?.degraded((error as Error).message)
        })
        if (kept) await rateLimits.restore(kept)
        else model.state.limits.forget()
        kept = undefined
      },
      admit(expected, answer) {
        if (remote) return remote.admit(expected, answer)
        expected.decided()
        return answer()
      },
      content: async () => storage.dump(),
      async close(keeps) {
        ensureFewCounts(await rateLimits.dump(), setting)
        ensureFewKeys(await storage.dump(), opened.length, setting)
        const before = deaths
        remote?.close()
        if (remote) closed++
        try {
          await storage.close()
        } finally {
          exit(disk)
        }
        if (deaths === before && keeps && setting.keepsLimits) kept = await rateLimits.dump()
      },
    }
  }
}
