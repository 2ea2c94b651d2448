import { createCast } from './cast.js'
import { virtualGlobals } from './globals.js'
import { createApiModel } from './model/api.js'
import { createNetwork } from './network.js'
import { choicesOf } from './random.js'
import { hasClockSteps, type PlannedEvent, type Scenario, type Setting } from './scenario.js'
import { createScheduler, settled } from './scheduler.js'
import { createServer, type ServerLife } from './server.js'
import type { Happenings, Stage } from './stage.js'
import { createTrace } from './trace.js'
import { ensure, type Invariant, Violation } from './violation.js'
import { warmUp } from './warm-up.js'

/** One client mistakes Reset for a wait of three weeks, and may have waited for a day before. */
const LONGEST_END = 30 * 86_400_000
const MOST_STEPS_TO_END = 100_000
const DAY = 86_400_000
const UNCAUGHT = ['unhandledRejection', 'uncaughtException']
/** Waits of clients and server, but not of the host or the network. */
const TIMERS = ['timer', 'sleep', 'time limit', 'turn of the loop']

export type Outcome = Awaited<ReturnType<typeof runWorld>>

/** Runs a world to its end, or until an invariant does not hold. */
export async function runWorld(scenario: Scenario) {
  await warmUp()
  const { seed, setting } = scenario
  const scheduler = createScheduler(seed, setting.begin)
  const trace = createTrace(scheduler.now, setting.begin)
  const counts: Record<string, number> = {}
  let violation: Violation | undefined
  let server: ServerLife | undefined
  const chance = choicesOf(seed, 'Math.random')
  const putBack = virtualGlobals(scheduler, () => chance.between(0, 1))
  for (const name of UNCAUGHT) process.on(name, fail)
  const listeners = listenersOf(process)
  try {
    const model = createApiModel({
      ...setting,
      failures: () => server?.failures('create') ?? 0,
      note,
    })
    const clock = createClock(scheduler.now)
    const common = { seed, setting, scheduler, model, clock: clock.now }
    const stage = { ...common, note, trace: trace.add, fail }
    server = createServer(stage)
    await runEvents(scenario.events, stage, server, clock.step, next)
    const left = listenersOf(process)
    ensure(left === listeners, 'memory.bounded', () => `listeners were ${listeners}, are ${left}`)
  } catch (error) {
    fail(error)
  } finally {
    for (const name of UNCAUGHT) process.off(name, fail)
    server?.dispose()
    putBack()
  }
  return {
    steps: scheduler.steps(),
    digest: trace.digest(),
    /** Events by kind, to see that each happened. */
    counts,
    /** The first invariant that did not hold. */
    violation,
    /** Everything in this world refers to it, so it is collected when nothing is left of the world. */
    rest: new WeakRef<object>(scheduler),
    /** The last lines of the trace. */
    trace: trace.end(),
  }

  function note(what: string): void {
    counts[what] = (counts[what] ?? 0) + 1
    trace.add(what)
  }

  function fail(error: unknown): void {
    const { stack } = error as Error
    violation ??= error instanceof Violation ? error : new Violation('errors.handled', `${stack}`)
  }

  /** One event happens, if any waits. Throws what has failed first. */
  async function next(): Promise<void> {
    const name = await scheduler.step()
    if (name !== undefined) trace.endStep(name)
    if (violation) throw violation
  }
}

/** All events happen; then everything works again, all calls end, and the file is as it should be. */
async function runEvents(
  events: readonly PlannedEvent[],
  stage: Stage,
  server: ServerLife,
  stepClock: (ms: number) => void,
  next: () => Promise<void>,
): Promise<void> {
  const { seed, setting, scheduler, fail } = stage
  const network = createNetwork(seed, setting.weather, scheduler, server.handle)
  const isQuiet =
    isCalm(setting) && isUnused(setting) && events.every(({ kind }) => kind === 'call')
  const known = { isQuiet, hasClockSteps: hasClockSteps(events) }
  const cast = createCast({ ...stage, ...known, network, addKey: server.addKey })
  const happenings: Partial<Happenings> = {
    call: ({ actor, call }) => cast.call(actor, call),
    'network-cut': ({ ms }) => network.cutUntil(scheduler.now() + ms),
    'clock-step': ({ ms }) => stepClock(ms),
    'new-key': ({ actor, expiresIn }) => cast.renewKey(actor, expiresIn),
    ...server.happenings,
  }
  let coming = events.length
  for (const event of events) {
    const happen = happenings[event.kind] as
      | ((event: PlannedEvent) => void | Promise<void>)
      | undefined
    scheduler.after(event.kind, event.at, () => {
      coming--
      return happen?.(event)
    })
  }
  await settled()
  while (coming > 0) await next()
  server.heal()
  network.heal()
  await ends(server.ready(), 'client.ends', 'the server does not start')
  const message = () => `${cast.open()} calls have not ended`
  await until(() => cast.open() === 0, 'client.ends', message)
  // A process may be about to compact its file.
  ensureFewTimers(1, 'all calls have ended')
  await ends(cast.close(), 'client.ends', 'a client does not close')
  await ends(server.finish(), 'file.tidy', 'the storage does not close')
  ensureFewTimers(0, 'everything is closed')

  function ensureFewTimers(most: number, when: string): void {
    const names = scheduler.names().filter(name => TIMERS.includes(name))
    const message = () => `${when}, and these wait: ${names.join(', ')}`
    ensure(names.length <= most, 'memory.bounded', message)
  }

  async function ends(work: Promise<void>, invariant: Invariant, message: string): Promise<void> {
    let hasEnded = false
    work.then(() => {
      hasEnded = true
    }, fail)
    await until(
      () => hasEnded,
      invariant,
      () => message,
    )
  }

  async function until(isOver: () => boolean, invariant: Invariant, message: () => string) {
    const last = { steps: scheduler.steps() + MOST_STEPS_TO_END, at: scheduler.now() + LONGEST_END }
    await settled()
    while (!isOver()) {
      await next()
      const isLate = scheduler.steps() > last.steps || scheduler.now() > last.at
      ensure(isOver() || (!isLate && scheduler.waiting() > 0), invariant, message)
    }
  }
}

/** The clock of the machine, which steps. */
function createClock(real: () => number) {
  let offset = 0
  const now = () => Math.floor(real() + offset)
  return {
    now,
    /** Back within a day only: over midnight, counts of yesterday may be gone or not. */
    step(ms: number): void {
      const day = (instant: number) => Math.floor(instant / DAY)
      if (ms > 0 || day(now() + ms) === day(now() - 60_000)) offset += ms
    },
  }
}

function isUnused({ actors }: Setting): boolean {
  return actors.every(({ used, expiresIn }) => used === null && expiresIn === null)
}

function listenersOf(emitter: NodeJS.Process): string {
  return emitter
    .eventNames()
    .map(name => `${String(name)}: ${emitter.listenerCount(name)}`)
    .join(', ')
}

/** Nothing is lost, and every answer comes before a client stops waiting for it with its next request. */
function isCalm({ weather }: Setting): boolean {
  const { delay, ...mishaps } = weather
  return delay.most <= 400 && Object.values(mishaps).every(probability => probability === 0)
}
