import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { settled } from './scheduler.js'
import { Violation } from './violation.js'

/** After how many worlds, as collecting garbage takes as long as a small world. */
const INTERVAL = 25
/** Allowed growth in bytes: worlds differ, and code is compiled. */
const MARGIN = 32 * 1_048_576

/** Watches that finished worlds leave nothing behind. */
export function watchMemory() {
  let worlds: WeakRef<object>[] = []
  let first: number | undefined

  return {
    /**
     * Looks at what is left after some of the worlds.
     *
     * @param rest what everything in the finished world refers to
     */
    async ended(rest: WeakRef<object>): Promise<Violation | undefined> {
      worlds.push(rest)
      if (worlds.length <= INTERVAL) return undefined
      const used = await memoryInUse()
      first ??= used
      // The last one may still be on the stack.
      const left = worlds.slice(0, -1).filter(world => world.deref() !== undefined).length
      worlds = worlds.slice(-1)
      if (left > 0) return unbounded(`${left} finished worlds are still in memory`)
      if (used > first + MARGIN) return unbounded(`${used} bytes are in use, ${first} at first`)
      return undefined
    },
  }
}

/** In bytes, when all garbage is collected. */
export async function memoryInUse(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // V8 keeps an object seen in one turn of the loop until its end.
  await settled()
  collect()
  await settled()
  collect()
  return process.memoryUsage().heapUsed
}

function unbounded(message: string): Violation {
  return new Violation('memory.bounded', message)
}
