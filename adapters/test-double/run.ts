import type { Awaitable } from '../../src/lib/async.js'

/** Time that can be made to pass. */
export interface PassingTime {
  /** Called at everything that happens: requests that come, answers that go, waits that begin. */
  readonly listeners: Set<() => void>
  /** Whether a request is being handled right now. */
  isBusy(): boolean
  /** Whether something waits. */
  canPass(): boolean
  /** Goes to the end of the next wait, if there is one. */
  pass(): void
}

// The code under test may run on fake timers.
const { setTimeout, setImmediate = (call: () => void) => setTimeout(call) } = globalThis

/**
 * Runs the work while time passes by itself: whenever nothing else can happen, the clock goes to
 * the end of the next wait.
 */
export async function runOn<T>(
  time: PassingTime,
  work: () => Awaitable<T>,
  turns: Turns = createTurns(),
): Promise<T> {
  let isDone = false
  let isQuiet = false
  const end = () => {
    isDone = true
    turns.keepAlive()
  }
  const onEvent = () => {
    isQuiet = false
    turns.keepAlive()
  }
  time.listeners.add(onEvent)
  const result = (async () => work())()
  result.then(end, end)
  try {
    while (!isDone) {
      isQuiet = true
      await turns.pass(time.canPass())
      if (isQuiet && !isDone && !time.isBusy()) time.pass()
    }
    return await result
  } finally {
    time.listeners.delete(onEvent)
  }
}

/** Lets everything else in the process happen. */
export interface Turns {
  /** @param keepsAlive whether a process that waits for nothing else goes on */
  pass(keepsAlive: boolean): Promise<void>
  /** Keeps the process alive until `pass` is over. */
  keepAlive(): void
}

/**
 * Turns of the event loop. A request of this process takes a few, also over a socket, and code under
 * test may use timers of zero length: two in a row still come first.
 */
function createTurns(): Turns {
  let timer: Partial<NodeJS.Timeout> | undefined
  let isAlive = false

  return {
    async pass(keepsAlive) {
      isAlive = keepsAlive
      for (let turn = 0; turn < 2; turn++) {
        for (let poll = 0; poll < 4; poll++) {
          await new Promise<void>(resolve => setImmediate(resolve))
        }
        await new Promise<void>(resolve => {
          timer = setTimeout(resolve)
          if (!isAlive) timer.unref?.()
        })
      }
    },
    keepAlive() {
      isAlive = true
      timer?.ref?.()
    },
  }
}
