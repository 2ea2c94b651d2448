import { createCast } from './cast.js'
import type { Happenings } from './engine.js'
import { virtualGlobals } from './globals.js'
import { type ApiModel, createApiModel } from './model/api.js'
import { createNetwork } from './network.js'
import type { Outcome } from './outcome.js'
import { choicesOf } from './random.js'
import type { PlannedEvent, Scenario, Setting } from './scenario.js'
import { createScheduler, settled } from './scheduler.js'
import type { CreateServer, ServerLife } from './server.js'
import { createTrace } from './trace.js'
import { ensure, type Invariant, Violation } from './violation.js'
import { warmUp } from './warm-up.js'

/** One client mistakes Reset for a wait of three weeks, and may have waited for a day before. */
const LONGEST_END = 30 * 86_400_000
const MOST_STEPS_TO_END = 100_000
const DAY = 86_400_000
const UNCAUGHT = ['unhandledRejection', 'uncaughtException']
/** What clients and server wait for, and not the host or the network. */
const TIMERS = ['timer', 'sleep', 'time limit', 'turn of the loop']

/** Runs a world to its end, or until an invariant does not hold. */
export async function runWorld(scenario: Scenario, create: CreateServer): Promise<Outcome> {
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
      failures: what => server?.failures(what) ?? 0,
      note,
    })
    const stage = { scheduler, trace: trace.add, note, fail, next }
    const clock = createClock(scheduler.now)
    server = await create({ ...stage, seed, setting, model, clock: clock.now })
    await createWorld(scenario, stage, server, model, clock).settle()
    const left = listenersOf(process)
    ensure(left === listeners, 'memory.bounded', () => `listeners were ${listeners}, are ${left}`)
  } catch (error) {
    fail(error)
  } finally {
    for (const name of UNCAUGHT) process.off(name, fail)
    server?.dispose()
    putBack()
  }
  const steps = scheduler.steps()
  const rest = new WeakRef(scheduler)
  return { steps, digest: trace.digest(), counts, violation, rest, trace: trace.end() }

  function note(what: string): void {
    counts[what] = (counts[what] ?? 0) + 1
    trace.add(what)
  }

  function fail(error: unknown): void {
    const { stack } = error as Error
    violation ??= error instanceof Violation ? error : new Violation('errors.handled', `${stack}`)
  }

  /** Whether anything happened, and nothing has failed so far. */
  async function next(): Promise<boolean> {
    const name = await scheduler.step()
    if (name !== undefined) trace.endStep(name)
    return name !== undefined && violation === undefined
  }
}

interface Stage {
  readonly scheduler: ReturnType<typeof createScheduler>
  readonly trace: (line: string) => void
  readonly note: (what: string) => void
  readonly fail: (error: unknown) => void
  readonly next: () => Promise<boolean>
}

/** Puts all parts together. */
function createWorld(
  { seed, setting, events }: Scenario,
  stage: Stage,
  server: ServerLife,
  model: ApiModel,
  clock: ReturnType<typeof createClock>,
) {
  const { scheduler, next } = stage
  const network = createNetwork(seed, setting.weather, scheduler, server.handle)
  const isQuiet =
    isCalm(setting) && isUnused(setting) && events.every(({ kind }) => kind === 'call')
  const hasClockSteps = events.some(({ kind }) => /clock-step|run/.test(kind))
  const { addKey } = server
  const known = { isQuiet, hasClockSteps }
  const cast = createCast({ ...stage, ...known, seed, setting, network, model, addKey })
  const happenings: Partial<Happenings> = {
    call: ({ actor, call }) => cast.call(actor, call),
    'network-cut': ({ ms }) => network.cutUntil(scheduler.now() + ms),
    'clock-step': ({ ms }) => clock.step(ms),
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
  return { settle }

  /** All events happen; then everything works again, all calls end, and the file is as it should be. */
  async function settle(): Promise<void> {
    await settled()
    while (coming > 0) if (!(await next())) return
    server.heal()
    network.heal()
    let isReady = false
    void server.ready().then(() => {
      isReady = true
    })
    const message = () => `${cast.open()} calls have not ended`
    if (!(await until(() => isReady && cast.open() === 0, 'client.ends', message))) return
    if (!(await rest())) return
    // A process may be about to compact its file.
    ensureFewTimers(server.processes, 'all calls have ended')
    let isClosed = false
    cast.close().then(() => {
      isClosed = true
    }, stage.fail)
    if (
      !(await until(
        () => isClosed,
        'client.ends',
        () => 'a client does not close',
      ))
    )
      return
    let isFinished = false
    server.finish().then(() => {
      isFinished = true
    }, stage.fail)
    const isTidy = await until(
      () => isFinished,
      'file.tidy',
      () => 'the storage does not close',
    )
    if (isTidy && (await rest())) ensureFewTimers(0, 'everything is closed')
  }

  /** Short timers that nothing stops end by themselves. */
  async function rest(): Promise<boolean> {
    if (server.restMs === 0) return true
    let isOver = false
    scheduler.after('rest', server.restMs, () => {
      isOver = true
    })
    return until(
      () => isOver,
      'memory.bounded',
      () => 'something goes on for ever',
    )
  }

  function ensureFewTimers(most: number, when: string): void {
    const names = scheduler.names().filter(name => TIMERS.includes(name))
    const message = () => `${when}, and these wait: ${names.join(', ')}`
    ensure(names.length <= most, 'memory.bounded', message)
  }

  /** Whether it came to that, and nothing failed. */
  async function until(isOver: () => boolean, invariant: Invariant, message: () => string) {
    const last = { steps: scheduler.steps() + MOST_STEPS_TO_END, at: scheduler.now() + LONGEST_END }
    await settled()
    while (!isOver()) {
      if (!(await next()) && scheduler.waiting() > 0) return false
      const isLate = scheduler.steps() > last.steps || scheduler.now() > last.at
      ensure(isOver() || (!isLate && scheduler.waiting() > 0), invariant, message)
    }
    return true
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
function isCalm({ weather, sqlite, isRemote }: Setting): boolean {
  const { delay, ...mishaps } = weather
  if (isRemote || (sqlite && sqlite.contention > 0)) return false
  return delay.most <= 400 && Object.values(mishaps).every(probability => probability === 0)
}
