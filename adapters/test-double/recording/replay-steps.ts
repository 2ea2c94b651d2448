import { ApiError, type ErrorCode } from '../../../src/errors.js'
import type { Awaitable } from '../../../src/lib/async.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import type { ReadRequest } from '../../exchanges/read-request.js'
import type { Worlds } from '../control/worlds.js'
import { createDouble, type JudgedDouble, type TestDouble } from '../double.js'
import type { Pace, Planned } from '../events.js'
import type { TakenFaults } from '../faults/faults.js'
import type { TestDoubleOptions } from '../options.js'
import type { Watch } from '../requests.js'
import { withControl } from '../test-double.js'
import { firstDifference } from './difference.js'
import {
  type RecordingFile,
  type Refusal,
  readRecording,
  type SentRequest,
  type Step,
} from './file.js'
import { createKeyNames, type NamedKey } from './names.js'
import { logSteps } from './steps.js'

/** A recording that was read. */
export interface OpenRecording {
  readonly steps: readonly Step[]
  /**
   * Takes its steps on a double of its own, whose clock stands still at the time of the last one.
   *
   * @throws OptionError for options of the recording that no double accepts
   */
  replay(options?: Pick<ReplayOptions, 'until'>): Promise<ReplayedRecording>
}

export interface ReplayedRecording {
  readonly double: TestDouble
  /** The first step that differs, before which it stopped; undefined when all are equal. */
  readonly difference: Difference | undefined
}

/**
 * Reads what `Recording.json` returned.
 *
 * @throws RecordingError, in one line, for anything else
 */
export async function openRecording(text: string): Promise<OpenRecording> {
  const file = readRecording(text, 'The recording')
  return {
    steps: file.steps,
    async replay(options) {
      const controlled = createDoubleFor(file)
      const difference = await takeSteps(controlled, file, options)
      return { double: controlled.double, difference }
    },
  }
}

/** A double for a recording, with its worlds. */
export interface ControlledDouble {
  readonly double: JudgedDouble
  readonly worlds: Worlds
  /** Faults for the next request, besides those that are armed. */
  plan(planned: Planned | undefined): void
}

/**
 * @param control the token of its control tree; true for a random one
 * @throws OptionError for options that a file should not have
 */
export function createDoubleFor(
  { begin }: RecordingFile,
  control: string | true = true,
): ControlledDouble {
  const { keys, options: given, at } = begin
  const options: TestDoubleOptions = { ...given, apiKeys: keysOf(keys), clock: at, control }
  let worlds: Worlds | undefined
  let taken: TakenFaults | undefined
  const around = (own: JudgedDouble) => {
    const handler = withControl(own, options)
    worlds = handler.worlds
    return handler
  }
  const watch: Watch = () => ({ taken, answered() {} })
  const double = createDouble(options, around, undefined, watch)
  return {
    double,
    worlds: worlds as Worlds,
    plan(planned) {
      taken = planned && { delay: planned.delay, fault: planned.fault, fire() {} }
    },
  }
}

/** Where the first step that came out otherwise stands, and what is different. */
export interface Difference {
  readonly step: number
  /** One line: what was expected, and what came. */
  readonly what: string
}

export interface ReplayOptions {
  /** The last step to replay. @default all */
  readonly until?: number | undefined
  /** Sends a request to the double. @default directly */
  readonly send?: (request: ReadRequest) => Awaitable<unknown>
}

/**
 * Takes the steps of a recording on a double that was created for it. Requests go on in the order in
 * which they were recorded, however they are sent.
 *
 * @returns the first difference, at which it stops; undefined when every step came out as recorded
 */
export async function takeSteps(
  { double, worlds, plan }: ControlledDouble,
  { begin, steps }: RecordingFile,
  { until = steps.length, send = request => double.handler.handle(request) }: ReplayOptions = {},
): Promise<Difference | undefined> {
  const { events } = double
  if (begin.state) await double.restore(begin.state as never)
  // The clock of a replay stands still, so that only its steps move it.
  double.clock.stand(begin.at)
  const names = createKeyNames()
  names.learn(double.state().apiKeys)
  const gates = createGates(events.sent)
  events.pace = gates.pace
  const log = logSteps(events, double.state(), names)
  try {
    for (const step of steps.slice(0, until)) {
      if (step.late) {
        log.skip(step)
        continue
      }
      await take(step)
      await gates.rest()
      const taken = log.steps[step.step - 1]
      const what = taken === undefined ? 'nothing happened' : differenceOf(step, taken)
      if (what !== undefined) return { step: step.step, what }
    }
    return undefined
  } finally {
    log.stop()
    plan(undefined)
    // From now on, requests are live.
    events.pace = undefined
    await gates.close()
  }

  async function take(step: Step): Promise<void> {
    if (step.do === 'world') {
      const { pets, keys, at } = step
      await worlds.create({ origin: '', token: '' }, { begin: pets, keys: keysOf(keys), clock: at })
      return
    }
    const target = step.world === undefined ? double : worlds.open.get(step.world)?.double
    if (!target) return
    target.clock.stand(step.at)
    switch (step.do) {
      case 'send':
        plan(step.planned)
        return gates.send(step.id, () => send(requestOf(step.request)))
      case 'run':
        return gates.open('run', step.id)
      case 'answer':
        return gates.open('answer', step.id)
      case 'clock':
        target.clock.auto = step.auto ?? false
        return
      case 'reset':
        return target.restart(step.at)
      case 'restore':
        return target.restore(step.snapshot as never)
      case 'create':
        return void target.pets.createPet(step.pet).catch(() => {})
      case 'arm':
        return void target.faults.arm(step.fault)
      case 'key':
        return target.addKey(step.key.name, recordOf(step.key))
      case 'clear-faults':
        return target.faults.clear(step.fault)
      case 'clear-requests':
        return target.clearRequests()
      case 'end-world':
        return void worlds.dispose(step.world ?? '')
    }
  }
}

/**
 * Has requests wait for the step in which they go on.
 *
 * @param before the id of the latest request of the double
 */
function createGates(before: number) {
  const ids: number[] = []
  const opened = new Set<string>()
  const waiting = new Map<string, { pass(): void; fail(reason: Error): void }>()
  const sendings: Promise<void>[] = []
  let underWay = 0
  let onRest = () => {}
  const pace: Pace = { run: id => pause('run', id), answer: id => pause('answer', id) }
  return {
    pace,
    /** @param id that of the request in the file */
    send(id: number, send: () => Awaitable<unknown>): void {
      ids.push(id)
      underWay++
      // A response that a fault loses is a failure for its sender, and nothing else.
      sendings.push(
        (async () => void (await send()))()
          .catch(() => {})
          .then(stop),
      )
    },
    /** Lets a request go on. */
    open(kind: keyof Pace, id: number): void {
      const name = `${kind} ${id}`
      opened.add(name)
      const gate = waiting.get(name)
      if (!gate) return
      waiting.delete(name)
      underWay++
      gate.pass()
    },
    /** Resolves once every request has ended, or waits for a later step. */
    async rest(): Promise<void> {
      while (underWay > 0) await new Promise<void>(resolve => (onRest = resolve))
    },
    /** Ends the requests that still wait, without a response: they have no later step. */
    close(): Promise<unknown> {
      for (const { fail } of waiting.values()) fail(new Error('The replay is over.'))
      return Promise.all(sendings)
    },
  }

  async function pause(kind: keyof Pace, id: number): Promise<void> {
    const name = `${kind} ${ids[id - before - 1] ?? 0}`
    if (opened.has(name)) return
    stop()
    await new Promise<void>((pass, fail) => waiting.set(name, { pass, fail }))
  }

  function stop(): void {
    underWay--
    onRest()
  }
}

/** One line; undefined where they are equal. */
function differenceOf(recorded: Step, taken: Step): string | undefined {
  const what = firstDifference(resultOf(recorded), resultOf(taken))
  if (what !== undefined || recorded.digest === taken.digest) return what
  return 'another state: the digests differ'
}

/** The part of a step that the store decides. */
function resultOf(step: Step): object {
  if (step.do === 'send') return { do: step.do, operation: step.operation, key: step.key }
  if (step.do !== 'answer') return { do: step.do }
  return { do: step.do, status: step.status, headers: step.headers, body: step.body }
}

function recordOf({ name: _, ...record }: NamedKey): ApiKey {
  return record as ApiKey
}

function keysOf(keys: readonly NamedKey[]): Readonly<Record<string, ApiKey>> {
  return Object.fromEntries(keys.map(key => [key.name, recordOf(key)]))
}

function requestOf({ body, base64, refusal, ...sent }: SentRequest): ReadRequest {
  const { connection, sequential, overlap, ...request } = sent
  return {
    ...request,
    body: base64 === undefined ? new TextEncoder().encode(body ?? '') : bytesOf(base64),
    ...(refusal && { refusal: errorOf(refusal) }),
    seen: { connection, sequential, overlap },
  }
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), character => character.charCodeAt(0))
}

function errorOf({ code, message, status, headers }: Refusal): ApiError {
  return new ApiError(code as ErrorCode, message, { status, headers })
}
