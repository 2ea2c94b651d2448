import { setImmediate } from '../../platform.js'
import { createTurns, type Turns } from '../auto-advance.js'
import type { JudgedDouble } from '../double.js'

/** The work does not end. The message completes a sentence that begins with "the work". */
export class EndlessError extends Error {
  override readonly name = 'EndlessError'
}

/** Turns of the event loop that a response takes in this process, with some to spare. */
const QUICK_TURNS = 4

/** Turns of real time to wait for other activity in the process, such as a file. */
const PATIENT_TURNS = 12

/** Turns of real time without activity that prove that nothing more will happen. */
const IDLE_TURNS = 20

interface Limits {
  readonly limit: number
  readonly isOver: () => boolean
}

/** For many short runs: takes real time only when the process waits for something besides the double. */
export function createQuickTurns(
  { clock, isBusy }: Pick<JudgedDouble, 'clock' | 'isBusy'>,
  { limit, isOver }: Limits,
): Turns {
  const turns = createTurns()
  const others = countResources()
  let [idle, passed] = [0, 0]
  return {
    async pass(_, isQuiet = () => true) {
      for (let turn = 0; turn < QUICK_TURNS; turn++) await oneTurn()
      if (isOver()) throw new EndlessError('goes on sending requests')
      for (let turn = 0; turn < PATIENT_TURNS; turn++) {
        if (!isQuiet() || isBusy() || countResources() <= others) break
        await turns.pass(true)
      }
      if (!isQuiet() || isBusy()) return
      const next = clock.next()
      if (next === undefined) {
        if (++idle > IDLE_TURNS) throw new EndlessError('waits for ever')
        return turns.pass(true)
      }
      idle = 0
      passed += Math.max(0, next - clock())
      if (passed > limit) {
        throw new EndlessError(`waits longer than ${limit / 1_000} s of virtual time`)
      }
    },
    keepAlive() {},
  }
}

export async function untilIdle({ isBusy }: Pick<JudgedDouble, 'isBusy'>): Promise<void> {
  while (isBusy()) await oneTurn()
}

function oneTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** Counts what keeps the process alive, except turns such as ours; 0 where that is unknown. */
function countResources(): number {
  const { process }: { process?: Partial<NodeJS.Process> } = globalThis
  const names = process?.getActiveResourcesInfo?.() ?? []
  return names.filter(name => name !== 'Immediate').length
}
