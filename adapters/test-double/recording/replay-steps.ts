import { ApiError, type ErrorCode } from '../../../src/api-error.js'
import type { Awaitable } from '../../../src/lib/async.js'
import type { ApiKey } from '../../../src/protocol/api-keys.js'
import type { ReadRequest } from '../../verdict/log/read-request.js'
import type { Worlds } from '../control/worlds.js'
import { withControl } from '../create-test-double.js'
import { createDouble, type TestDouble } from '../double.js'
import type { ReplayableRequest } from '../events.js'
import { firstDifference } from './difference.js'
import {
  type RecordingFile,
  readRecording,
  type SendStep,
  type SentRequest,
  type Step,
} from './file.js'
import { createKeyNames, type NamedKey } from './names.js'
import { logSteps } from './steps.js'

export interface OpenRecording {
  readonly steps: readonly Step[]
  /**
   * Replays the steps on a new double, whose clock stands still at the time of the last one.
   * @throws OptionError for options of the recording that no double accepts
   */
  replay(options?: ReplayOptions): Promise<ReplayedRecording>
}

export interface ReplayedRecording {
  readonly double: TestDouble
  /** The first step that differs, before which the replay stopped; undefined if all are equal. */
  readonly difference: Difference | undefined
}

/**
 * Reads the text that `Recording.json` returned.
 * @throws RecordingError, in one line, for anything else
 * @example
 * import { createTestDouble, openRecording } from 'animal-adoption-store/test-double'
 *
 * const recording = await createTestDouble().record()
 * const { steps, replay } = await openRecording(await recording.json())
 * const { difference } = await replay()
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

export function createDoubleFor({ begin }: RecordingFile, control: string = crypto.randomUUID()) {
  const { keys, options: given, at } = begin
  const options = { ...given, apiKeys: keysOf(keys), time: at, control }
  let worlds: Worlds | undefined
  const double = createDouble(options, own => {
    const handler = withControl(own, options)
    worlds = handler.worlds
    return handler
  })
  return { double, worlds: worlds as Worlds }
}

export interface Difference {
  readonly step: number
  /** One line: the expected and the actual value. */
  readonly what: string
}

/**
 * @example
 * import { createTestDouble, openRecording } from 'animal-adoption-store/test-double'
 *
 * const recording = await createTestDouble().record()
 * const { replay } = await openRecording(await recording.json())
 * await replay({ until: 0 })
 */
export interface ReplayOptions {
  /** The last step to replay. @default all */
  readonly until?: number | undefined
}

/**
 * Replays steps until the first that comes out in another way, and returns the difference. Requests
 * proceed in the order in which they were recorded, however they are sent.
 */
export async function takeSteps(
  { double, worlds }: ReturnType<typeof createDoubleFor>,
  { begin, steps }: RecordingFile,
  { until = steps.length }: ReplayOptions = {},
  send: (request: ReadRequest) => Awaitable<unknown> = double.handler.handle,
): Promise<Difference | undefined> {
  const { events } = double
  if (begin.state) await double.restore(begin.state as never)
  // The clock of a replay stands still, so that only its steps move it.
  double.clock.stand(begin.at)
  const names = createKeyNames()
  names.learn(double.state().apiKeys)
  const gates = createGates()
  const log = logSteps(events, double.state(), names)
  try {
    for (const step of steps.slice(0, until)) {
      await take(step)
      await gates.rest()
      const taken = log.steps[step.step - 1]
      const what = taken === undefined ? 'nothing happened' : differenceOf(step, taken)
      if (what !== undefined) return { step: step.step, what }
    }
    return undefined
  } finally {
    log.stop()
    await gates.close()
  }

  async function take(step: Step): Promise<void> {
    if (step.do === 'world') {
      const { snapshot, keys, at } = step
      const apiKeys = keysOf(keys)
      await worlds.create({ origin: '', token: '' }, { snapshot, apiKeys, time: at })
      return
    }
    const target = step.world === undefined ? double : worlds.open.get(step.world)?.double
    if (!target) return
    target.clock.stand(step.at)
    switch (step.do) {
      case 'send':
        return gates.send(step, send)
      case 'run':
      case 'answer':
        return gates.open(`${step.do} ${step.id}`)
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
        return target.addKey(step.record.name, recordOf(step.record))
      case 'clear-faults':
        return target.faults.clear(step.fault)
      case 'clear-requests':
        return target.clearRequests()
      case 'end-world':
        return void worlds.dispose(step.world ?? '')
    }
  }
}

/** Makes requests wait for the step in which they proceed. */
function createGates() {
  const waiting = new Map<string, { pass(): void; fail(reason: Error): void }>()
  const sendings: Promise<void>[] = []
  let underWay = 0
  let onRest = () => {}
  return {
    send(
      { id, request, planned }: SendStep,
      send: (request: ReplayableRequest) => Awaitable<unknown>,
    ) {
      underWay++
      const replay = { planned, step: (name: string) => pause(`${name} ${id}`) }
      // A response that a fault loses is a failure for its sender only.
      const sending = (async () => send({ ...requestOf(request), replay }))().catch(() => {})
      sendings.push(sending.then(stop))
    },
    open(name: string): void {
      const gate = waiting.get(name)
      if (!gate) return
      waiting.delete(name)
      underWay++
      gate.pass()
    },
    /** Resolves once every request has ended or waits for a later step. */
    async rest(): Promise<void> {
      while (underWay > 0) await new Promise<void>(resolve => (onRest = resolve))
    },
    /** Ends the requests that still wait, without a response: no later step concerns them. */
    close(): Promise<unknown> {
      for (const { fail } of waiting.values()) fail(new Error('The replay is over.'))
      return Promise.all(sendings)
    },
  }

  function pause(name: string): Promise<void> {
    stop()
    return new Promise((pass, fail) => waiting.set(name, { pass, fail }))
  }

  function stop(): void {
    underWay--
    onRest()
  }
}

function differenceOf(recorded: Step, taken: Step): string | undefined {
  const what = firstDifference(resultOf(recorded), resultOf(taken))
  if (what !== undefined || recorded.digest === taken.digest) return what
  return 'another state: the digests differ'
}

function resultOf(step: Step): object {
  if (step.do === 'send') return { do: step.do, operation: step.operation, keyId: step.keyId }
  if (step.do !== 'answer') return { do: step.do }
  return { do: step.do, status: step.status, headers: step.headers, body: step.body }
}

function recordOf({ name: _, ...record }: NamedKey): ApiKey {
  return record as ApiKey
}

export function keysOf(keys: readonly NamedKey[]): Readonly<Record<string, ApiKey>> {
  return Object.fromEntries(keys.map(key => [key.name, recordOf(key)]))
}

function requestOf({ body, base64, refusal, ...sent }: SentRequest): ReadRequest {
  const { connection, sequential, overlap, ...request } = sent
  return {
    ...request,
    body: base64 === undefined ? new TextEncoder().encode(body ?? '') : bytesOf(base64),
    ...(refusal && {
      refusal: new ApiError(refusal.code as ErrorCode, refusal.message, refusal),
    }),
    seen: { connection, sequential, overlap },
  }
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), character => character.charCodeAt(0))
}
