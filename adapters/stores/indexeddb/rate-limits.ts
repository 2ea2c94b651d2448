import { decide, type Usage } from '../../../src/limits/windows-and-bans.js'
import type { RateLimitSnapshot, RateLimitStore } from '../../../src/ports.js'
import type { Connection } from './connection.js'
import { type ObjectStore, resultOf } from './platform.js'

export interface IndexedDbRateLimitStore extends RateLimitStore, AsyncDisposable {
  ready(): Promise<void>
  close(): Promise<void>
}

export function createRateLimits({ run, close }: Connection): IndexedDbRateLimitStore {
  return {
    consume: (partition, limits, now) =>
      change(async usage => {
        const known: Usage | undefined = await resultOf(usage.get(partition))
        const decided = decide(known, limits, now)
        usage.put(decided.usage, partition)
        return decided.decision
      }),
    inspect: partition => run('readonly', ['usage'], ({ usage }) => resultOf(usage.get(partition))),
    reset: partition =>
      change(async usage => {
        if (partition === undefined) usage.clear()
        else usage.delete(partition)
      }),
    dump: () =>
      run('readonly', ['usage'], async ({ usage }) => {
        const [names, all] = await Promise.all([
          resultOf(usage.getAllKeys()),
          resultOf(usage.getAll()),
        ])
        return names.map((partition, at) => [String(partition), all[at]] as const)
      }),
    restore: (snapshot: RateLimitSnapshot) =>
      change(async usage => {
        usage.clear()
        for (const [partition, counts] of snapshot) usage.put(counts, partition)
      }),
    ready: () => run('readonly', ['usage'], async () => {}),
    close,
    [Symbol.asyncDispose]: close,
  }

  function change<T>(task: (usage: ObjectStore<Usage>) => Promise<T>): Promise<T> {
    return run('readwrite', ['usage'], ({ usage }) => task(usage))
  }
}
