import type { Awaitable } from '../../src/lib/async.js'

/** Time that can be made to pass. */
export interface PassingTime {
  /** Called when a request arrives, a response leaves, or a wait begins. */
  readonly activity: Set<() => void>
  /** Whether a request is being handled right now. */
  isBusy(): boolean
  /** Whether something waits. */
  canPass(): boolean
  /** Goes to the end of the next wait, if there is one. */
  pass(): void
  /** Why the work would wait forever; undefined if it would not. */
  stuck(): string | undefined
}

// The code under test may run on fake timers.
const { setTimeout, setImmediate = (call: () => void) => setTimeout(call) } = globalThis

/** How many turns in a row without anything happening prove that nothing will. */
const MOST_IDLE = 300

/** The same while something else goes on in the process, such as a real timer. */
const MOST_IDLE_AMONG_OTHERS = 3_000

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
  time.activity.add(onEvent)
  const others = countResources()
  let idle = 0
  const result = (async () => work())()
  result.then(end, end)
  try {
    while (!isDone) {
      isQuiet = true
      const reason = time.canPass() ? undefined : time.stuck()
      await turns.pass(time.canPass() || reason !== undefined)
      const isIdle = isQuiet && !time.isBusy()
      idle = isIdle && reason !== undefined ? idle + 1 : 0
      if (!isIdle || isDone) continue
      if (idle >= MOST_IDLE && (idle >= MOST_IDLE_AMONG_OTHERS || countResources() <= others)) {
        throw new Error(`run cannot end: ${reason}`)
      }
      time.pass()
    }
    return await result
  } finally {
    time.activity.delete(onEvent)
  }
}

/** What keeps the process alive, but for turns such as ours; none where nobody counts it. */
export function countResources(): number {
  const { process }: { process?: Partial<NodeJS.Process> } = globalThis
  const names = process?.getActiveResourcesInfo?.() ?? []
  return names.filter(name => name !== 'Immediate').length
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
export function createTurns(): Turns {
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
