import { jsonFileStorage } from '../../adapters/json-file/index.js'
import { memoryRateLimits } from '../../adapters/memory.js'
import type { RateLimitSnapshot } from '../../src/index.js'
import { ensureFewCounts, ensureFewKeys } from './bounds.js'
import { createMachine } from './disk.js'
import type { Backend, Engine, EngineOptions } from './engine.js'

const FOLDER = '/data/'

/** One process, a JSON file on a simulated disk, and counts in memory. */
export async function createFileEngine(options: EngineOptions): Promise<Engine> {
  const { seed, setting, scheduler, model, note } = options
  const machine = createMachine(seed, scheduler)
  let path = `${FOLDER}pets.json`
  let files = 1
  let kept: RateLimitSnapshot | undefined
  let deaths = 0

  return {
    processes: 1,
    restMs: 0,
    open,
    async copy() {
      const next = `${FOLDER}pets-${++files}.json`
      const before = deaths
      try {
        await copyTo(next)
        if (deaths === before) path = next
      } catch (error) {
        if (deaths === before) machine.kill()
        throw error
      }
    },
    async leftovers() {
      const beside = `${path.slice(FOLDER.length)}.`
      // A process that dies while it opens may leave an empty folder, which nothing reads.
      const isLock = (name: string) => name.startsWith(`${beside}lock.`)
      const names = await machine.names()
      const left = names.filter(name => name.startsWith(beside) && !isLock(name))
      const open = machine.handles()
      return open === 0 ? left : [...left, `${open} open files`]
    },
    atCall: machine.atCall,
    kill: () => ended(machine.kill),
    cutPower: () => ended(machine.cutPower),
    setFull: machine.setFull,
    heal: machine.heal,
    failures: what => (what === 'read' ? 0 : machine.failures()),
    happenings: {
      'disk-fails': ({ calls, failure }) =>
        machine.atCall(calls, 'before', () => machine.failNext(failure)),
    },
    dispose() {},
  }

  function ended(how: () => void): readonly number[] {
    how()
    deaths++
    kept = undefined
    return [0]
  }

  async function copyTo(next: string): Promise<void> {
    const disk = machine.start()
    const source = await jsonFileStorage(path, { disk, onError() {} })
    const target = await jsonFileStorage(next, { disk, onError() {} })
    await target.restore(await source.dump())
    await target.close()
    await source.close()
  }

  async function open(): Promise<Backend> {
    const before = deaths
    const storage = await jsonFileStorage(path, {
      disk: machine.start(),
      onError: ({ message }) =>
        // A dead process goes on in this one, and finds the document of the next.
        deaths === before &&
        note(message.replace(/.*(could not be compacted|unfinished write).*/s, '$1')),
    })
    const rateLimits = memoryRateLimits()
    const { idempotencyKeys: opened = [] } = await storage.dump()
    return {
      storage,
      rateLimits,
      async begin() {
        if (kept) await rateLimits.restore(kept)
        else model.forgetLimits()
        kept = undefined
      },
      admit(expected, answer) {
        expected.decided()
        return answer()
      },
      content: async () => storage.dump(),
      async close(keeps) {
        ensureFewCounts(await rateLimits.dump(), setting)
        ensureFewKeys(await storage.dump(), opened.length, setting)
        const before = deaths
        try {
          await storage.close()
        } finally {
          if (deaths === before) machine.kill()
        }
        if (deaths === before && keeps && setting.keepsLimits) kept = await rateLimits.dump()
      },
    }
  }
}
