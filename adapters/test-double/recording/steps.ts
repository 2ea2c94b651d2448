import { toJson } from '../../../src/lib/json.js'
import { utf8Length } from '../../../src/lib/utf8.js'
import type { NewPet } from '../../../src/pets/schema.js'
import type { ApiResponse } from '../../../src/protocol/api.js'
import type { ReadRequest } from '../../exchanges/read-request.js'
import { digestOf, sorted, usageThatCounts } from '../digest.js'
import type { Act, DoubleEvent, EventLog, ObservableState, Seen } from '../events.js'
import type { Fault } from '../faults/fault.js'
import type { SentRequest, Step, StepAct } from './file.js'
import type { KeyNames } from './names.js'

/** The steps that a double takes, from now on. */
export interface StepLog {
  readonly steps: readonly Step[]
  /** Whether there were more than it keeps. */
  readonly isFull: boolean
  /** Resolves once every step has its digest. */
  settled(): Promise<void>
  /** Resolves with the step of this number once it was taken. */
  taken(step: number): Promise<Step>
  /** Counts a step that is not taken, with the digest before it. */
  skip(step: Step): void
  stop(): void
}

/** A longer run fills the memory. */
const MOST = 100_000

export function logSteps(events: EventLog, root: ObservableState, names: KeyNames): StepLog {
  const steps: (StepFields & { digest: string })[] = []
  const current = new Map<string | null, ObservableState>([[null, root]])
  const observed = createObserver(names)
  const waiting = new Map<number, () => void>()
  const before = events.sent
  let digest: Promise<string> = Promise.resolve('')
  let isFull = false
  observed(root)
  events.listeners.add(hear)

  return {
    steps,
    get isFull() {
      return isFull
    },
    async settled() {
      await digest
    },
    async taken(number) {
      while (steps.length < number) {
        await new Promise<void>(resolve => waiting.set(number, resolve))
      }
      await digest
      return steps[number - 1] as Step
    },
    skip(step) {
      steps.push({ ...step })
    },
    stop() {
      events.listeners.delete(hear)
    },
  }

  function hear(event: DoubleEvent): void {
    const { act, world, state } = event
    if (act.do === 'reset' || act.do === 'restore' || act.do === 'world') current.set(world, state)
    isFull ||= steps.length === MOST
    if (isFull) return
    const isLate = isOver(event)
    const step = {
      step: steps.length + 1,
      at: state.now(),
      ...(world !== null && { world }),
      ...(isLate && { late: true as const }),
      ...actOf(event, before, names),
      digest: '',
    }
    if (act.do === 'end-world') current.delete(world)
    steps.push(step)
    if (!isLate) addDigest(step, state)
    else digest = digest.then(last => (step.digest = last))
    waiting.get(steps.length)?.()
    waiting.delete(steps.length)
  }

  /** Whether a request has outlived the state that it changes. */
  function isOver({ world, state }: DoubleEvent): boolean {
    return current.get(world) !== state
  }

  function addDigest(step: StepFields & { digest: string }, state: ObservableState): void {
    const text = toJson(sorted([outcomeOf(step), observed(state)]))
    digest = digest.then(async last => {
      step.digest = await digestOf([last, text])
      return step.digest
    })
  }
}

type StepFields = Omit<Step, 'digest' | 'do'> & StepAct

function actOf({ act, state }: DoubleEvent, before: number, names: KeyNames): StepAct {
  switch (act.do) {
    case 'send':
      return sendStep(act, before, names)
    case 'run':
      return { do: 'run', id: act.id - before }
    case 'answer':
      return {
        do: 'answer',
        id: act.id - before,
        ...responseOf(act.response, names),
        ...(act.fault !== null && { fault: act.fault }),
      }
    case 'clock': {
      const { now: _, ...clock } = state.clock.dump()
      return { do: 'clock', ...clock }
    }
    case 'create':
      return { do: 'create', pet: names.hide(petOf(act.pet)) }
    case 'arm':
      return { do: 'arm', fault: names.hide(act.fault as Fault & object) }
    case 'key':
      return { do: 'key', key: names.added(state.apiKeys, act.key) }
    case 'restore':
      return { do: 'restore', snapshot: names.hide(act.snapshot) }
    case 'world': {
      const keys = names.learn(state.apiKeys)
      return { do: 'world', pets: names.hide(act.pets), keys, frozen: state.clock.dump().frozen }
    }
    default:
      return { do: act.do }
  }
}

/**
 * What a step may have changed. Animals are never changed or removed, so only new ones count; of
 * idempotency keys their number does, and those at the end.
 */
function createObserver(names: KeyNames): (state: ObservableState) => unknown {
  const told = new WeakMap<ObservableState, { pets: number; keys: number }>()
  return state => {
    const { pets, nextId, idempotencyKeys = [], usage, faults } = state.observe()
    const known = told.get(state) ?? { pets: 0, keys: 0 }
    told.set(state, { pets: pets.length, keys: idempotencyKeys.length })
    const newKeys = idempotencyKeys.slice(known.keys)
    return {
      pets: names.hide(pets.slice(known.pets)),
      nextId,
      usedKeys: idempotencyKeys.length,
      // The fingerprint is that of the body, which may hold a key.
      newKeys: newKeys.map(({ fingerprint: _, ...used }) => used),
      usage: usageThatCounts(usage, state.now()),
      // It is counted a little later, when the response is made.
      faults: names.hide(faults.map(({ fired: _, ...fault }) => fault)),
      keys: state.apiKeys.list().map(toJson).sort(),
    }
  }
}

/** What depends neither on the network nor on whether the clock runs. */
function outcomeOf({ step: _step, at, ...fields }: StepFields): unknown {
  switch (fields.do) {
    case 'send': {
      const { id: _id, request: _request, planned: _planned, ...outcome } = fields
      return outcome
    }
    case 'run':
    case 'answer': {
      const { id: _id, ...outcome } = fields
      return outcome
    }
    case 'clock':
      return { do: 'clock', world: fields.world, at, auto: fields.auto }
    case 'world': {
      const { frozen: _frozen, ...outcome } = fields
      return outcome
    }
    default:
      return fields
  }
}

function sendStep(
  { id, request, seen, planned }: Extract<Act, { do: 'send' }>,
  before: number,
  names: KeyNames,
): StepAct {
  const { operation = null, key } = seen
  return {
    do: 'send',
    id: id - before,
    operation,
    key: key?.id ?? null,
    request: sentRequest(names.request(request, key), seen),
    ...(planned && { planned: names.hide({ delay: planned.delay, fault: planned.fault }) }),
  }
}

function responseOf({ status, headers, body }: ApiResponse, names: KeyNames) {
  const hidden = names.hide({ status, headers, body })
  const length = headers['Content-Length']
  if (hidden.body === body || length === undefined) return hidden
  // A name is not as long as its key.
  const ownLength = String(utf8Length(hidden.body))
  return { ...hidden, headers: { ...hidden.headers, 'Content-Length': ownLength } }
}

function sentRequest(request: ReadRequest, seen: Seen): SentRequest {
  const { method, path, query, headers, body, client, mount, refusal } = request
  const { connection, sequential, overlap } = seen
  return {
    method,
    path,
    query,
    headers: headers as SentRequest['headers'],
    ...bodyOf(body),
    ...(client !== undefined && { client }),
    ...(mount !== undefined && { mount }),
    ...(refusal && {
      refusal: {
        code: refusal.code,
        message: refusal.message,
        status: refusal.status,
        headers: refusal.headers,
      },
    }),
    connection,
    sequential,
    overlap,
  }
}

function bodyOf(body: ReadRequest['body']): Pick<SentRequest, 'body' | 'base64'> {
  if (body === undefined || body.length === 0) return {}
  if (typeof body === 'string') return { body }
  try {
    return { body: STRICT.decode(body) }
  } catch {
    return { base64: btoa(Array.from(body, byte => String.fromCharCode(byte)).join('')) }
  }
}

/** Keeps a byte order mark, which is part of the body. */
const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Other fields are ignored, and may hold anything. */
function petOf(pet: NewPet): NewPet {
  const { name, categoryId, status } = (pet ?? {}) as NewPet
  return { name, categoryId, ...(status !== undefined && { status }) }
}
