import type { ApiError } from '../../../src/api-error.js'
import { fingerprint } from '../../../src/lib/fingerprint.js'
import { toJson } from '../../../src/lib/json.js'
import { utf8Length } from '../../../src/lib/utf8.js'
import type { NewPet } from '../../../src/pets/schema.js'
import type { ApiResponse } from '../../../src/protocol/api-request.js'
import { TextDecoder } from '../../platform.js'
import type { ReadRequest } from '../../verdict/log/read-request.js'
import { sorted, usageThatCounts } from '../digest.js'
import type { Act, DoubleEvent, EventLog, ObservableState } from '../events.js'
import type { Refusal, SentRequest, Step, StepAct } from './file.js'
import type { KeyNames } from './names.js'

/** Bounds the memory of a long run. */
const MOST = 100_000

export function logSteps(events: EventLog, root: ObservableState, names: KeyNames) {
  const steps: Step[] = []
  const current = new Map<string | null, ObservableState>([[null, root]])
  const observed = createObserver(names)
  const before = events.sent
  let digest = ''
  let isFull = false
  observed(root)
  events.listeners.add(hear)

  return {
    steps: steps as readonly Step[],
    get isFull() {
      return isFull
    },
    stop: () => void events.listeners.delete(hear),
  }

  function hear(event: DoubleEvent): void {
    const { act, world, state } = event
    if (act.do === 'reset' || act.do === 'restore' || act.do === 'world') current.set(world, state)
    // Nobody sees the changes of a request that has outlived its state.
    if (current.get(world) !== state) return
    isFull ||= steps.length === MOST
    if (isFull) return
    const step = {
      step: steps.length + 1,
      at: state.now(),
      ...(world !== null && { world }),
      ...stepAct(event, before, names),
    }
    if (act.do === 'end-world') current.delete(world)
    digest = fingerprint(toJson(sorted([digest, outcomeOf(step), observed(state)])))
    steps.push({ ...step, digest })
  }
}

function stepAct({ act, state }: DoubleEvent, before: number, names: KeyNames): StepAct {
  switch (act.do) {
    case 'send':
      return sendStep(act, before, names)
    case 'run':
      return { do: 'run', id: act.id - before }
    case 'answer': {
      const { id, response, fault } = act
      const answer = responseOf(response, names)
      return { do: 'answer', id: id - before, ...answer, ...(fault !== null && { fault }) }
    }
    case 'clock': {
      const { now: _, ...clock } = state.clock.dump()
      return { do: 'clock', ...clock }
    }
    case 'create':
      return names.hide({ do: 'create', pet: petOf(act.pet) })
    case 'key':
      return { do: 'key', record: names.added(state.apiKeys) }
    case 'world': {
      const keys = names.learn(state.apiKeys)
      return names.hide({ ...act, keys, frozen: state.clock.dump().frozen, time: undefined })
    }
    default:
      return names.hide(act as StepAct)
  }
}

/** Animals are never changed or removed, so only new ones count; of keys, their number and the newest. */
function createObserver(names: KeyNames): (state: ObservableState) => unknown {
  const seen = new WeakMap<ObservableState, { pets: number; keys: number }>()
  return state => {
    const { pets, nextId, idempotencyKeys = [], usage, faults } = state.observe()
    const known = seen.get(state) ?? { pets: 0, keys: 0 }
    seen.set(state, { pets: pets.length, keys: idempotencyKeys.length })
    const newKeys = idempotencyKeys.slice(known.keys)
    return {
      pets: names.hide(pets.slice(known.pets)),
      nextId,
      usedKeys: idempotencyKeys.length,
      // The fingerprint covers the body, which may hold a key.
      newKeys: newKeys.map(({ fingerprint: _, ...used }) => used),
      usage: usageThatCounts(usage, state.now()),
      // `fired` is counted later, when the response is made.
      faults: names.hide(faults.map(({ fired: _, ...fault }) => fault)),
      keys: state.apiKeys.list().map(toJson).sort(),
    }
  }
}

/** Reduces a step to what depends neither on the network nor on a running clock. */
function outcomeOf({ step: _, at, ...act }: Omit<Step, 'digest' | 'do'> & StepAct): unknown {
  if (act.do === 'clock') return { do: 'clock', world: act.world, at, auto: act.auto }
  return { ...act, id: undefined, request: undefined, planned: undefined, frozen: undefined }
}

type SendAct = Extract<Act, { do: 'send' }>

function sendStep(
  { id, request, seen, operation, knownKey, planned }: SendAct,
  before: number,
  names: KeyNames,
): StepAct {
  return {
    do: 'send',
    id: id - before,
    operation: operation ?? null,
    keyId: knownKey?.id ?? null,
    request: sentRequest(names.request(request, knownKey), seen),
    ...(planned && { planned: names.hide({ delay: planned.delay, fault: planned.fault }) }),
  }
}

function responseOf({ status, headers, body }: ApiResponse, names: KeyNames) {
  const hidden = names.hide({ status, headers, body })
  if (hidden.body === body || headers['Content-Length'] === undefined) return hidden
  // A name differs from its key in length.
  const length = String(utf8Length(hidden.body))
  return { ...hidden, headers: { ...hidden.headers, 'Content-Length': length } }
}

function sentRequest(request: ReadRequest, seen: SendAct['seen']): SentRequest {
  const { method, path, query, headers, body, client, refusal } = request
  const { connection, sequential, overlap } = seen
  return {
    method,
    path,
    query,
    headers: headers as SentRequest['headers'],
    ...bodyOf(body),
    ...(client !== undefined && { client }),
    ...(refusal && { refusal: refusalOf(refusal) }),
    connection,
    sequential,
    overlap,
  }
}

function refusalOf({ code, message, status, headers }: ApiError): Refusal {
  return { code, message, status, headers }
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

/** Ignores other fields, which may hold anything. */
function petOf(pet: NewPet): NewPet {
  const { name, categoryId, status } = (pet ?? {}) as NewPet
  return { name, categoryId, ...(status !== undefined && { status }) }
}
