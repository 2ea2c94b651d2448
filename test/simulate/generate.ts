import type { Usage } from '../../src/index.js'
import { ACTORS } from './actors/index.js'
import type { DiskCall, DiskFailure } from './disk.js'
import { SUNSET } from './model/requests.js'
import { type Choices, choicesOf } from './random.js'
import type {
  ActorSetting,
  CallPlan,
  DiskMoment,
  Limits,
  PetPlan,
  PlannedEvent,
  Scenario,
  Setting,
} from './scenario.js'
import { usualBanAfter } from './scenario.js'

const MINUTE = 60_000
const DAY = 86_400_000
const KINDS = Object.keys(ACTORS)

/**
 * A world by its name. Each has some kinds of trouble and lacks others, as all of them at once would
 * hide what only some cause (swarm testing; Groce et al. 2012).
 */
export function scenarioOf(name: string): Scenario {
  const choices = choicesOf(name, 'setting')
  const setting = settingOf(choices)
  return { seed: name, setting, events: eventsOf(choicesOf(name, 'events'), setting) }
}

function settingOf(choices: Choices): Setting {
  const kinds = Array.from({ length: 2 + choices.below(4) }, () => choices.pick(KINDS))
  const isRough = choices.chance(0.5)
  // Where nobody is rejected, more reaches the storage.
  const isGenerous = choices.chance(0.5)
  const hasPast = !isGenerous && choices.chance(0.6)
  const probability = () => (isRough && choices.chance(0.5) ? choices.between(0, 0.15) : 0)
  // Near the end of a day, of the removal date, and anywhere.
  const begin = choices.pick([
    Date.UTC(2030, 0, 1, 23, 58),
    Date.UTC(2030, 11, 4, 23, 30),
    Date.UTC(2028, 1, 29) + choices.below(DAY),
  ])
  return {
    begin,
    actors: kinds.map((kind, at) => {
      const limits = isGenerous ? GENEROUS : choices.pick([limitsOf(choices), ...PLANS])
      return {
        name: `client ${at + 1}`,
        kind,
        limits,
        used: hasPast ? usageOf(choices, limits, begin) : null,
        address: choices.pick(['local', '192.0.2.7']),
        // The limits of one whose key has expired are those of its address.
        expiresIn: choices.chance(0.3) ? choices.pick([1_000, 60_000]) : null,
        client: {
          maxConcurrent: Math.min(choices.pick([1, 2, 10, 10]), limits.banAfterRejections),
          maxQueued: choices.pick([10_000, 10_000, 2]),
          waitForBan: choices.chance(0.4),
          maxRetries: choices.pick([0, 1, 3, 3]),
          maxWait: choices.pick([0, 5_000, 120_000, 120_000]),
          timeout: choices.pick([400, 30_000, 30_000]),
        },
        skew: choices.pick([0, 0, 0, 500, -90_000, 3_600_000, -DAY]),
      }
    }),
    weather: {
      delay: choices.pick(DELAYS),
      requestLost: probability(),
      repeated: probability(),
      requestCut: probability(),
      responseLost: probability(),
      responseCut: probability(),
      foreign: probability(),
    },
    anonymous: choices.pick([null, limitsOf(choices), limitsOf(choices), limitsOf(choices)]),
    idempotencyMs: choices.pick([null, 90_000, 3_600_000, DAY, DAY]),
    options: {
      pagination: choices.chance(0.5),
      defaultStatus: choices.pick(['available', 'available', 'sold', null] as const),
    },
    keepsLimits: choices.chance(0.3),
    door: choices.pick(['fetch', 'handle'] as const),
    diskMs: choices.pick([4, 4, 400]),
  }
}

/** Without any, requests arrive in the very millisecond that they are planned for. */
const DELAYS = [0, 1, 20, 400, 3_000].map(most => ({ least: Math.min(most, 0.1), most }))

const GENEROUS: Limits = { perMinute: 100_000, perDay: 10_000_000, banAfterRejections: 10 }

/** Those of the specification (spec §8). */
const PLANS: readonly Limits[] = [
  { plan: 'free', perMinute: 60, perDay: 1_000, banAfterRejections: 30 },
  { plan: 'pro', perMinute: 300, perDay: 10_000, banAfterRejections: 150 },
  { plan: 'business', perMinute: 1_000, perDay: 100_000, banAfterRejections: 500 },
]

function limitsOf(choices: Choices): Limits {
  const perMinute = choices.pick([1, 3, 8, 20, 60, 1_000])
  const perDay = perMinute * choices.pick([1, 2, 5, 50, 1_000])
  const banAfterRejections = choices.pick([1, 2, 5, 10, 30, usualBanAfter(perMinute)])
  return { perMinute, perDay, banAfterRejections }
}

/** When they end: so long ago that they are forgotten, or just not, now, soon, and later than any ban can. */
const BANS = [-DAY, 1_000 - DAY, 0, MINUTE, 3_601_000, 3_602_000]

/** Close to the end of the minute, the day, the patience, or a ban: nobody has to get there by requests. */
function usageOf(choices: Choices, limits: Limits, begin: number): Usage {
  const { perMinute, perDay, banAfterRejections } = limits
  const left = (limit: number) => Math.max(0, limit - choices.pick([0, 1, 3, limit]))
  const minuteCount = left(perMinute)
  return {
    ...{
      lastSeenAt: begin - choices.pick([0, 1, 1_000]),
      minuteCount,
      rejections: left(banAfterRejections),
    },
    dayCount: Math.max(minuteCount, left(perDay)),
    bannedUntil: choices.chance(0.5) ? 0 : 1_000 * Math.ceil(begin / 1_000) + choices.pick(BANS),
    banLevel: choices.below(6),
  }
}

const KEPT_STATUSES = ['available', 'pending', 'sold', null] as const

function eventsOf(choices: Choices, setting: Setting): PlannedEvent[] {
  const events: PlannedEvent[] = []
  const troubles = troublesOf(choices, setting.actors)
  const length = choices.pick([60, 150, 300, 600])
  const pause = choices.pick([5, 200, 2_000, 20_000])
  const oftenBurst = choices.pick([0.25, 0.25, 0.7])
  const oftenTrouble = choices.pick([0, 0.05, 0.1, 0.2])
  const style = {
    isPlain: choices.chance(0.7),
    longest: choices.pick([0, 500, 2_000, 2_000, 70_000]),
    oftenLong: choices.pick([0.03, 0.3]),
  }
  let at = 0
  let animals = 0
  let isTrouble = false
  const nextPet = () => petOf(choices, style, ++animals)
  for (let number = 0; number < length; number++) {
    // Troubles rarely come alone, and close together they do more.
    const isBurst = choices.chance(isTrouble ? 0.7 : oftenBurst)
    if (!isBurst)
      at = choices.chance(0.05) ? edgeAfter(choices, at, setting) : at + pauseOf(choices, pause)
    isTrouble = choices.chance(isTrouble ? 0.4 : oftenTrouble)
    const trouble = troubles.length > 0 && isTrouble
    const next = trouble ? choices.pick(troubles)(choices) : callOf(choices, setting, nextPet)
    for (const event of [next].flat()) events.push({ at: Math.round(at), ...event } as PlannedEvent)
  }
  return [...events, ...lastCrash(choices, Math.round(at))]
}

/** The last compaction is cut off, and the next process has nothing else to do than find what it left. */
function lastCrash(choices: Choices, at: number): PlannedEvent[] {
  if (choices.chance(0.3)) return []
  return [
    { at, kind: 'kill', ...momentOf(choices, ['any', 'fsync', 'rename', 'unlink'], 4) },
    { at: at + 10_000, kind: 'restart' },
  ]
}

/** An event at a whole minute, day or ban, one ms before it, or one ms after it. */
function edgeAfter(choices: Choices, at: number, { begin }: Setting): number {
  const now = begin + at
  const endOf = (window: number) => (Math.floor(now / window) + 1) * window
  const end = choices.pick([
    ...[endOf(MINUTE), endOf(MINUTE), endOf(DAY), SUNSET],
    // A ban that begins now, and the time for which it is remembered.
    ...[now + 5 * MINUTE, now + 10 * MINUTE, now + 5 * MINUTE + DAY],
  ])
  return Math.max(at, end - begin + choices.pick([-1, 0, 1]))
}

function pauseOf(choices: Choices, usual: number): number {
  return choices.chance(0.03) ? choices.between(0, 3 * 3_600_000) : choices.between(0, usual)
}

type Trouble = (choices: Choices) => object | readonly object[]

function troublesOf(choices: Choices, actors: readonly ActorSetting[]): Trouble[] {
  const all: Trouble[] = [
    some => ({ kind: 'kill', ...anyMoment(some) }),
    some => ({ kind: 'power-cut', ...anyMoment(some) }),
    some => ({ kind: 'power-cut', ...anyMoment(some) }),
    // In the middle of a write.
    some => ({ kind: 'power-cut', call: 'fdatasync', calls: some.below(3), when: 'before' }),
    () => ({ kind: 'restart' }),
    () => ({ kind: 'snapshot' }),
    () => ({ kind: 'restore' }),
    restoreBeforeDeath,
    diskFails,
    some => ({ kind: 'second-process', ...anyMoment(some) }),
    restartBesideAnother,
    failureBeforeDeath,
    failureBeforeDeath,
    failureBeforePowerCut,
    some => ({ kind: 'disk-full', ms: some.below(20_000) }),
    some => ({ kind: 'network-cut', ms: some.below(20_000) }),
    some => ({ kind: 'clock-step', ms: stepOf(some) }),
    some => stepBetweenCalls(some, actors),
    some => newKey(some, actors),
    some => newKey(some, actors),
  ]
  return all.filter(() => choices.chance(0.5))
}

function newKey(choices: Choices, actors: readonly ActorSetting[]): object {
  const expiresIn = choices.pick([null, null, null, 1_000, 60_000, 600_000])
  return { kind: 'new-key', actor: choices.pick(actors).name, expiresIn }
}

/** Most defects of a storage show between two certain calls, such as a write and its sync. */
function anyMoment(choices: Choices): DiskMoment {
  const call = choices.pick(['any', 'any', ...CALLS] as const)
  const calls = call === 'any' ? choices.pick([0, 1, choices.below(16)]) : choices.below(3)
  return { call, calls, when: choices.pick(WHEN) }
}

/** Around one of the next calls, as many as `most`, of one of these kinds. */
function momentOf(choices: Choices, kinds: readonly DiskCall[], most: number): DiskMoment {
  return { call: choices.pick(kinds), calls: choices.below(most), when: choices.pick(WHEN) }
}

const WHEN = ['before', 'after'] as const
const CALLS = ['writeSync', 'fdatasync', 'fsync', 'rename', 'unlink'] as const

function diskFails(choices: Choices): object {
  const call = choices.pick(['any', 'fdatasync', 'fsync', 'write', 'writeSync', 'rename'] as const)
  const failure = { call, code: choices.pick(['EIO', 'ENOSPC']), isDone: choices.chance(0.3) }
  return { kind: 'disk-fails', failure, calls: choices.below(call === 'any' ? 15 : 4) }
}

/** A create fails, and before the next one is written, the process dies with what the first has left. */
function failureBeforeDeath(choices: Choices): readonly object[] {
  const call = choices.pick(['fdatasync', 'writeSync'] as const)
  const failure: DiskFailure = { call, code: 'EIO', isDone: choices.chance(0.5) }
  // After others, as the journal keeps those.
  const calls = choices.below(3)
  return [
    { kind: 'disk-fails', failure, calls },
    { kind: 'kill', call: 'writeSync', calls: calls + 1, when: 'before' },
  ]
}

/** A call fails, what follows succeeds and is acknowledged, and then the power goes. */
function failureBeforePowerCut(choices: Choices): readonly object[] {
  const call = choices.pick([...CALLS, 'ftruncate'] as const)
  const failure: DiskFailure = { call, code: 'EIO', isDone: choices.chance(0.5) }
  const { calls, ...cut } = momentOf(choices, ['any', 'fdatasync'], 8)
  return [
    { kind: 'disk-fails', failure, calls: 0 },
    { kind: 'power-cut', ...cut, calls: 2 + calls },
  ]
}

/** The process dies soon after a restore, which takes some ten calls. */
function restoreBeforeDeath(choices: Choices): readonly object[] {
  const calls = choices.below(25)
  return [{ kind: 'restore' }, { kind: 'kill', calls, when: 'before' }]
}

/** Another process opens the file while this one gives its lock back, or takes it again. */
function restartBesideAnother(choices: Choices): readonly object[] {
  const moment = momentOf(choices, ['mkdir', 'readdir', 'rename', 'rmdir', 'unlink'], 3)
  return [
    { kind: choices.pick(['restart', 'kill']), ...moment },
    { kind: 'second-process', ...moment },
  ]
}

/** The second call comes as long before the first as the clock stepped back, where nothing is delayed. */
function stepBetweenCalls(choices: Choices, actors: readonly ActorSetting[]): readonly object[] {
  const { name: actor } = choices.pick(actors)
  const call = { kind: 'call', actor, call: { do: 'get', id: 1 } }
  return [call, { kind: 'clock-step', ms: choices.pick([-60_000, -60_001]) }, call]
}

function stepOf(choices: Choices): number {
  if (choices.chance(0.2)) return choices.pick([-60_000, 60_000, -60_001])
  const step = choices.pick([900, 30_000, 59_000, 600_000, 7_200_000])
  return Math.round(choices.between(-step, choices.pick([step, step, 2 * DAY])))
}

function callOf(choices: Choices, { actors }: Setting, next: () => PetPlan): object {
  const actor = choices.pick(actors).name
  return { kind: 'call', actor, call: planOf(choices, choices.below(100), next) }
}

function planOf(choices: Choices, percent: number, next: () => PetPlan): CallPlan {
  if (percent < 55) return { do: 'create', pet: next() }
  if (percent < 75) {
    const limit = choices.pick([1, 5, 20, 100])
    const status = choices.pick(KEPT_STATUSES)
    return { do: 'list', limit, status, after: choices.pick([0, 0, choices.below(100)]) }
  }
  if (percent < 90) return { do: 'get', id: choices.below(40) }
  return { do: 'all' }
}

const ENDINGS = [
  '',
  '',
  'é',
  '🐈',
  '\ud800',
  '\u0000',
  '\u001f\u007f',
  '"',
  '\\',
  '\\"',
  '\n',
  '{"id":1}',
  '\u2028',
]

interface Style {
  /** Without what is hard to write, or to read again. */
  readonly isPlain: boolean
  /** Of some names, in characters. */
  readonly longest: number
  /** Probability of such a name; one that is longer than a sector of the disk is written in parts. */
  readonly oftenLong: number
}

function petOf(choices: Choices, style: Style, number: number): PetPlan {
  const { isPlain, longest, oftenLong } = style
  const isLong = choices.chance(longest > 2_000 ? 0.03 : oftenLong)
  const length = isLong ? longest : choices.pick([0, 0, 10, 40])
  const ending = isPlain ? '' : choices.pick(ENDINGS)
  const categories = isPlain ? ['1', '2', '-7'] : ['0', '9007199254740993', '-9223372036854775808']
  return {
    name: `${number} ${'x'.repeat(length)}${ending}`,
    categoryId: choices.pick(categories),
    status: choices.pick(KEPT_STATUSES),
  }
}
