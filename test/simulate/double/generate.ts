import type { Fault } from '../../../adapters/test-double/index.js'
import { scenarioOf } from '../generate.js'
import { QUIET } from '../network.js'
import { type Choices, choicesOf } from '../random.js'
import { type ActorSetting, hasClockSteps, type PlannedEvent, type Scenario } from '../scenario.js'

/** What happens to a double as to other servers; the rest of the trouble becomes one of the others. */
const KEPT = ['call', 'network-cut', 'clock-step', 'new-key', 'snapshot', 'restore']
const OTHERS = ['arm', 'arm', 'arm', 'arm', 'arm', 'seed', 'run', 'reset', 'look'] as const
const CLEAR = ['clear-faults', 'clear-requests'] as const
/** Then it cannot tell who is polite. */
const DISTURBING = ['network-cut', 'clock-step', 'run']
const PERFECT = { ...QUIET, delay: { least: 0, most: 0 } }

/** The world of that name with a test double: its faults take the place of what fails elsewhere. */
export function doubleScenarioOf(name: string): Scenario {
  const { setting, events, ...scenario } = scenarioOf(name)
  const choices = choicesOf(name, 'double')
  const isJudged = choices.chance(0.4)
  const double = { journal: choices.pick([3, 20, 100]), isJudged }
  // Half of a body never comes by a call of `fetch`.
  const weather = isJudged ? PERFECT : { ...setting.weather, requestCut: 0 }
  const all = events.map((event, at) => {
    const isKept = KEPT.includes(event.kind)
    const next = isKept ? event : eventOf(choices, event.at, at, setting.actors)
    const isDisturbing = isJudged && DISTURBING.includes(next.kind)
    return isDisturbing ? { at: event.at, kind: 'look' as const } : next
  })
  return {
    ...{ ...scenario, setting: { ...setting, weather, isRemote: false, double } },
    events: hasClockSteps(all) ? all : all.map(withoutWait),
  }
}

/** Whoever gives up on a call may make it again before its Retry-After has passed. */
function withoutWait(event: PlannedEvent): PlannedEvent {
  if (event.kind !== 'arm' || event.fault.kind !== 'status') return event
  return event.fault.status === 429
    ? event
    : { ...event, fault: { ...event.fault, retryAfter: null } }
}

function eventOf(
  choices: Choices,
  at: number,
  number: number,
  actors: readonly ActorSetting[],
): PlannedEvent {
  const kind = choices.pick([...OTHERS, choices.pick(CLEAR)])
  if (kind === 'arm') return { at, kind, fault: faultOf(choices, actors, number) }
  if (kind === 'run') return { at, kind, ms: choices.pick(WAITS) }
  if (kind !== 'seed') return { at, kind }
  return { at, kind, pet: { name: `seeded ${number}`, categoryId: '1', status: null } }
}

const KINDS = [
  'status',
  'status',
  'delay',
  'delay',
  'reset',
  'hang',
  'truncate',
  'malformed',
] as const
const STATUSES = [404, 429, 500, 502, 503, 503, 504] as const
/** In ms. */
const WAITS = [1, 500, 20_000, 400_000]

/** A header that no request has is the mark of a fault. */
function faultOf(choices: Choices, actors: readonly ActorSetting[], number: number): Fault {
  const scope = {
    requestHeaders: { [`x-fault-${number}`]: false },
    ...(choices.chance(0.4) && {
      operation: choices.pick(['createPet', 'createPet', 'listPets', 'getPet'] as const),
    }),
    ...(choices.chance(0.2) && { key: choices.pick(actors).name }),
    ...(choices.chance(0.3) && { times: choices.pick([2, 5]) }),
    ...(choices.chance(0.2) && { nth: choices.pick([2, 3]) }),
    ...(choices.chance(0.1) && { from: '1s', until: '30s' }),
  }
  const kind = choices.pick(KINDS)
  if (kind === 'delay') return { kind, ms: choices.pick([0, ...WAITS]), ...scope }
  if (kind !== 'status') return { kind, ...scope }
  const status = choices.pick(STATUSES)
  const retryAfter = choices.pick<number | { date: number } | null>(
    status === 429 ? [1, 30] : [null, 2, { date: 30 }],
  )
  const when = choices.pick(['before', 'after'] as const)
  return { kind, status, retryAfter, when, ...scope }
}
