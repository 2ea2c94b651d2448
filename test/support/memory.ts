import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Fails if this process holds more memory, in bytes, each time that the work measures. It has three attempts: V8
 * compiles code meanwhile, and the rest of the process has garbage too.
 */
export async function assertGrowth(
  most: number,
  work: (measure: () => void) => void | Promise<void>,
): Promise<void> {
  let grown = 0
  for (let attempt = 1; attempt <= 3; attempt++) {
    const before = held()
    grown = 0
    await work(() => {
      grown = Math.max(grown, held() - before)
    })
    if (grown <= most) return
  }
  assert.fail(`${grown} bytes more`)
}

/** Garbage is not held, and how much of it there is depends on the Node version. */
function held(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
