import {
  createTestDouble,
  type Fault,
  type HarEntry,
  type JournalEntry,
  type Snapshot,
  type TestDouble,
} from '../../../adapters/test-double/index.js'
import { type NewPet, parseJson, toJson } from '../../../src/index.js'
import { BASE_URL } from '../actors/actor.js'
import { ACTORS } from '../actors/index.js'
import { petOf } from '../actors/pet-of.js'
import { ALLOWED } from '../cast.js'
import { lowerCase, readResponse } from '../door.js'
import type { Happenings, Stage } from '../engine.js'
import type { Expectation } from '../model/api.js'
import { seen } from '../model/pets.js'
import { type KeyRecord, keyOf, type ModelState } from '../model/state.js'
import type { WireRequest, WireResponse } from '../network.js'
import { choicesOf } from '../random.js'
import type { DoubleSetting } from '../scenario.js'
import { settled } from '../scheduler.js'
import { apiKeyOf, lineOf, newKey, type ServerLife, START, storeOptions } from '../server.js'
import { ensure, type Invariant } from '../violation.js'
import { ensureChecked, ensureRefused, spoiltSnapshot } from '../wrong-input.js'
import { type Armed, createFaultModel, type FaultModel, shownFault } from './faults.js'
import {
  answer,
  createJournal,
  type Entry,
  type JournalModel,
  operationOf,
  shownEntry,
} from './journal.js'

/** All that a reset or a restore replaces. */
interface Period {
  readonly model: ModelState
  readonly faults: FaultModel
  readonly journal: JournalModel
}

/** A request that waits on the clock of the double. */
interface Delayed {
  readonly until: number
  readonly handle: (now: number) => void
}

interface Saved {
  readonly snapshot: Snapshot
  readonly digest: string
  /** They are no part of it. */
  readonly keys: string
  readonly period: Period
}

const CREDENTIAL = /key-\d+-of/
/** How a call of `fetch` fails then, as that of Node does. */
const LOSING: Readonly<Record<string, RegExp>> = {
  reset: /^fetch failed ECONNRESET$/,
  truncate: /^terminated UND_ERR_SOCKET$/,
  hang: /^fetch failed UND_ERR_SOCKET$/,
}

/** A test double, whose clock, state and faults the world controls as a test does. */
export async function createDoubleLife(options: Stage): Promise<ServerLife> {
  const { seed, setting, scheduler, model, clock: machine, note, fail, trace } = options
  const { journal: capacity, isJudged } = setting.double as DoubleSetting
  let double: TestDouble | undefined
  let initial: ReadonlyMap<string, KeyRecord> = new Map()
  let atStart = ''
  let current: Period = {
    ...{ model: model.state, faults: createFaultModel(), journal: createJournal(capacity) },
  }
  let saved: Saved | undefined
  let delayed: readonly Delayed[] = []
  /** How far its clock is ahead of the machine's. */
  let ahead = 0
  /** Requests that are being handled, and all that have no response. */
  let [busy, open] = [0, 0]
  let [keys, restores, looks] = [0, 0, 0]
  const started = new Promise<void>(resolve => {
    scheduler.later('start', START, () => start().then(resolve))
  })

  return {
    ...{ processes: 0, restMs: 0, failures: () => 0, addKey },
    handle(request) {
      const it = double
      if (!it) return undefined
      return new Promise((resolve, reject) => {
        const end = (got: WireResponse | Error) =>
          got instanceof Error ? reject(got) : resolve(got)
        const begin = () => serve(it, request).then(end, fail)
        // What waited for this instant comes first.
        if (move(it)) scheduler.after('next request', 0, () => void begin())
        else void begin()
      })
    },
    happenings: {
      arm: ({ fault }) => during(it => arm(it, fault)),
      seed: ({ pet }) => during(it => plant(it, petOf(pet))),
      'clear-faults': () => during(clearFaults),
      'clear-requests': () => during(clearRequests),
      run: ({ ms }) => during(it => pass(it, ms)),
      look: () => during(look),
      reset: () => during(reset),
      snapshot: () => during(snapshot),
      restore: () => during(restore),
    } as Partial<Happenings>,
    ready: () => started,
    heal: () => double && clearFaults(double),
    finish: () =>
      new Promise((resolve, reject) => {
        scheduler.after('finish', 0, () => during(finish).then(resolve, reject))
      }),
    dispose: () => void double?.close(),
  }

  async function start(): Promise<void> {
    initial = new Map(model.state.keys)
    const given = {
      ...storeOptions(setting, initial),
      ...{ baseUrl: BASE_URL, clock: setting.begin, journal: capacity, journalBytes: 1e12 },
    }
    const it = createTestDouble(given)
    await ensureChecked(createTestDouble, given, choicesOf(seed, 'wrong double'))
    atStart = await it.digest()
    double = it
  }

  function addKey(id: string, expiresIn: number | null = null): string {
    const [key, record] = newKey(++keys, id, expiresIn, options)
    model.state.keys.set(key, record)
    double?.addKey(...apiKeyOf(key, record, setting))
    return key
  }

  /** What a test does, in the event in which it does it. */
  async function during(work: (it: TestDouble) => void | Promise<void>): Promise<void> {
    if (!double) return
    if (move(double)) await settled()
    await work(double)
    await settled()
  }

  async function ensureSame(it: TestDouble, digest: string, when: string): Promise<void> {
    await settled()
    const now = await it.digest()
    ensure(now === digest, 'state.whole', () => `${when}, the digest is another`)
  }

  /** To the time of the machine, as a test does. Returns whether that ended delays. */
  function move(it: TestDouble): boolean {
    ensure(busy === 0, 'response.sent', () => `${busy} requests have no response in time`)
    const [now, to] = [it.clock.now(), machine() + ahead]
    const before = delayed.length
    endDelays(to, to)
    if (to > now) it.clock.advance(to - now)
    else it.clock.set(to)
    return delayed.length < before
  }

  /** Those that wait until then are handled. @param at by default, when each of them ends */
  function endDelays(until: number, at?: number): void {
    const due = delayed.filter(one => one.until <= until).toSorted((a, b) => a.until - b.until)
    delayed = delayed.filter(one => !due.includes(one))
    for (const one of due) one.handle(at ?? one.until)
  }

  /** Somebody has to move the clock then. */
  function wait(it: TestDouble, one: Delayed): void {
    if (!delayed.includes(one)) delayed = [...delayed, one]
    scheduler.after('end of a delay', Math.max(1, one.until - machine() - ahead), () => {
      if (delayed.includes(one)) move(it)
      if (delayed.includes(one)) wait(it, one)
    })
  }

  /** The requests that have arrived go on in the state in which they did. */
  function begin(next: Period, now: number): void {
    if (delayed.length > 0) note('in flight')
    endDelays(Number.POSITIVE_INFINITY, now)
    current = next
    model.state = next.model
  }

  /** A fault affects a response. */
  function fire(one: Armed | undefined, entry: Entry): void {
    if (!one) return
    one.fired++
    entry.fault = one.fault.kind
    note(`fault ${entry.fault}`)
  }

  /** Returns how its call of `fetch` fails, if it does. */
  async function serve(it: TestDouble, given: WireRequest): Promise<WireResponse | Error> {
    // Calls of `fetch` have no address.
    const request = { ...given, address: 'local' }
    const { method, target, headers, body } = request
    const period = current
    const at = it.clock.now()
    const key = keyOf(period.model, request, at)?.id ?? null
    const { delay, other } = period.faults.meet(operationOf(method, target), key, at)
    const { kind } = other?.fault ?? {}
    const entry = period.journal.arrive(request, key, at)
    let handled: { readonly expected: Expectation; readonly now: number } | undefined
    const handle = (now: number) => {
      if (kind === 'hang') return fire(other, entry)
      const expected = model.expect(request, now, period.model)
      expected.decided()
      handled = { expected, now }
      busy++
    }
    fire(delay, entry)
    const ms = delay?.fault.kind === 'delay' ? delay.fault.ms : 0
    if (ms > 0) wait(it, { until: at + ms, handle })
    else handle(at)
    open++
    const init = { method, headers, ...(body !== undefined && { body }) }
    const answering = readResponse(it.fetch(new URL(target, BASE_URL), init))
    const got = await answering.catch((error: Error) => error)
    open--
    if (handled) busy--
    const isLost = got instanceof Error
    const { code } = (isLost && (got.cause as NodeJS.ErrnoException | undefined)) || {}
    const isForeseen = isLost
      ? LOSING[`${kind}`]?.test(`${got.message} ${code}`)
      : handled !== undefined
    ensure(
      isForeseen === true,
      'response.true',
      () => `a call with the fault ${kind} ends with ${got}`,
    )
    if (!handled) return got
    const { expected, now } = handled
    const isHit = kind === 'status' ? expected.isAdmitted() : kind && (isLost || method !== 'HEAD')
    const isCurrent = isHit && period === current
    const told = isCurrent && it.requests({ since: at }).find(({ n }) => n === entry.n)
    const response = isLost ? (told ? answerIn(told) : undefined) : got
    if (isHit) fire(other, entry)
    if (response) answer(entry, response, now)
    if (isHit && other?.fault.kind === 'status') {
      expected.checkInjected(got as WireResponse, other.fault)
      if (other.fault.when === 'after' && told) expected.hasRun(told.storedAt)
    } else if (isHit && kind === 'malformed') expected.hasRun(response?.headers['location'])
    else if (response) expected.check(response)
    if (!response || kind === 'reset') return got
    note(String(response.status))
    trace(lineOf(request, response))
    return { ...response, isCut: isLost, isForeign: isHit === true && kind === 'malformed' }
  }

  async function arm(it: TestDouble, fault: Fault): Promise<void> {
    const before = await it.digest()
    it.faults.arm(fault)
    const isOther = (await it.digest()) !== before
    ensure(isOther, 'state.whole', () => 'the digest leaves out a fault')
    current.faults.arm(fault, it.clock.now())
    note('arm')
  }

  async function plant(it: TestDouble, pet: NewPet): Promise<void> {
    model.register(pet)
    const { name } = pet
    const create = current.model.history.create(name, `${model.textOf(name)}`)
    for (const stored of await it.seed([pet])) create.stored(seen(stored))
    note('seed')
  }

  function clearFaults(it: TestDouble): void {
    it.faults.clear()
    current.faults.clear()
    note('clear-faults')
  }

  function clearRequests(it: TestDouble): void {
    checkReport(it)
    it.clearRequests()
    current.journal.clear()
    note('clear-requests')
  }

  /** Time passes by itself. */
  async function pass(it: TestDouble, ms: number): Promise<void> {
    const end = it.clock.now() + ms
    endDelays(end)
    await it.run(() => it.clock.sleep(ms))
    ahead += ms
    ensure(it.clock.now() === end, 'state.whole', () => `a sleep ends at ${it.clock.now()}`)
    note('run')
  }

  async function reset(it: TestDouble): Promise<void> {
    await look(it)
    const lost = [...current.model.keys].filter(([key]) => !initial.has(key))
    const model = current.model.empty(initial)
    const journal = createJournal(capacity)
    begin({ model, faults: createFaultModel(), journal }, it.clock.now())
    it.reset()
    await ensureSame(it, atStart, 'after a reset')
    for (const [key, record] of lost) {
      current.model.keys.set(key, record)
      it.addKey(...apiKeyOf(key, record, setting))
    }
    note('reset')
  }

  async function snapshot(it: TestDouble): Promise<void> {
    const snapshot = await it.snapshot('kept')
    const { pets, nextId, faults, journal } = snapshot
    current.model.history.read().listed({ limit: pets.length + 1 }, pets.map(seen))
    const { floor } = current.model.history
    ensure(nextId === floor + 1, 'ids.ascending', () => `${nextId} follows ${floor}`)
    ensureTrue(faults.map(shownFault), current.faults.list(), 'response.true')
    ensureTrue(journal.exchanges.map(shownEntry), current.journal.shown(), 'journal.true')
    const period = copyOf(snapshot, current)
    saved = { snapshot, digest: await it.digest(), keys: keysNow(), period }
    note('snapshot')
  }

  async function restore(it: TestDouble): Promise<void> {
    if (!saved) return
    await look(it)
    const { snapshot, digest, keys, period } = saved
    const choices = choicesOf(seed, 'restore', ++restores)
    begin(copyOf(snapshot, period), it.clock.now())
    const part = choices.pick(['pets', 'faults', 'idempotencyKeys'] as const)
    await it.restore({ ...snapshot, [part]: [] })
    const isOther = (await it.digest()) !== digest || !snapshot[part]?.length
    ensure(isOther, 'state.whole', () => `the digest leaves out ${part}`)
    await it.restore(choices.pick(['kept', snapshot, parseJson(toJson(snapshot)) as Snapshot]))
    await settled()
    const isSame = (await it.digest()) === digest
    ensure(
      isSame === (keys === keysNow()),
      'state.whole',
      () => `after a restore, the digest is ${isSame ? 'the same' : 'another'}`,
    )
    note('restore')
  }

  function copyOf({ pets, nextId }: Snapshot, { model, faults, journal }: Period): Period {
    const { keys } = current.model
    return { model: model.copy(pets, nextId, keys), faults: faults.copy(), journal: journal.copy() }
  }

  function keysNow(): string {
    return [...current.model.keys.keys()].join()
  }

  /** Looking changes nothing. */
  async function look(it: TestDouble): Promise<void> {
    const before = await it.digest()
    const entries = it.requests()
    ensureTrue(entries.map(shownEntry), current.journal.shown(), 'journal.true')
    const text = JSON.stringify([entries, it.report()])
    ensure(!CREDENTIAL.test(text), 'journal.true', () => 'it has a credential')
    const [own, dropped] = [current.journal.dropped(), it.dropped]
    if (own > 0) note('dropped')
    ensure(dropped === own, 'journal.true', () => `${dropped} were dropped, not ${own}`)
    ensureTrue(it.faults.list().map(shownFault), current.faults.list(), 'response.true')
    checkReport(it)
    const snapshot = await it.snapshot()
    const spoilt = spoiltSnapshot(snapshot, choicesOf(seed, 'spoilt', ++looks))
    await ensureRefused(() => it.restore({ ...snapshot, ...spoilt }))
    await ensureRefused(() => it.restore({ ...snapshot, faults: [{ kind: 'no kind' } as never] }))
    await ensureSame(it, before, 'after a look')
    note('look')
  }

  function checkReport(it: TestDouble): void {
    const { requests, notes, findings } = it.report()
    const counted = current.journal.counted()
    ensure(requests === counted, 'verdict.just', () => `it covers ${requests} of ${counted}`)
    for (const key of [null, ...setting.actors.map(({ name }) => name)]) {
      const unused = current.faults.unused(key)
      const one = notes.find(({ rule, key: own }) => rule === 'fault.unused' && own === key)
      const marks = one?.seen.match(/x-fault-\d+/g) ?? []
      if (unused.length > 0) note('unused')
      const more = Number(/and (\d+) more$/.exec(one?.seen ?? '')?.[1] ?? 0)
      ensure(
        marks.length + more === unused.length && marks.every(mark => unused.includes(mark)),
        'verdict.just',
        () => `unused are ${unused.join()}, and it says ${one?.seen}`,
      )
    }
    if (!isJudged) return
    const unjust = findings.filter(({ key, rule }) => isPolite(key) && !ALLOWED.includes(rule))
    const text = () => JSON.stringify(unjust)
    ensure(unjust.length === 0, 'verdict.just', text)
  }

  /** With another key of the same customer, a client begins anew. */
  function isPolite(key: string | null): boolean {
    const actor = setting.actors.find(({ name }) => name === key)
    const own = [...current.model.keys.values()].filter(({ id }) => id === key)
    return own.length === 1 && ACTORS[`${actor?.kind}`]?.isPolite === true
  }

  /** Closed, it ends all calls. */
  async function finish(it: TestDouble): Promise<void> {
    await look(it)
    const har = it.har()
    ensure(!CREDENTIAL.test(JSON.stringify(har)), 'journal.true', () => 'it has a credential')
    const entries = it.requests().toSorted((one, other) => one.at - other.at)
    ensureTrue(har.log.entries.map(archived), entries.map(asArchived), 'journal.true')
    endDelays(Number.POSITIVE_INFINITY, it.clock.now())
    await it.close()
    await settled()
    ensure(open === 0, 'memory.bounded', () => `${open} calls have not ended`)
  }
}

function ensureTrue(found: readonly string[], expected: readonly string[], invariant: Invariant) {
  const at = [...found, ''].findIndex((text, at) => text !== (expected[at] ?? ''))
  ensure(at < 0, invariant, () => `${found[at]} instead of ${expected[at]}`)
}

/** What an archive says of a request, which is what the journal says. */
function archived({ startedDateTime, time, request, response }: HarEntry): string {
  const { method, url, queryString, postData } = request
  const { status, content, bodySize } = response
  const sent = [method, url, queryString.map(({ value }) => value), postData?.text]
  return JSON.stringify([startedDateTime, time, sent, [status, content.text, bodySize]])
}

function asArchived(entry: JournalEntry): string {
  const { at, answeredAt, method, url, requestBody, status, body } = entry
  const { href, searchParams } = new URL(url, BASE_URL)
  const sent = [method, href, [...searchParams.values()], requestBody ?? undefined]
  const size = status === null ? -1 : Buffer.byteLength(body ?? '')
  const time = Math.max(0, (answeredAt ?? at) - at)
  return JSON.stringify([
    new Date(at).toISOString(),
    time,
    sent,
    [status ?? 0, body ?? undefined, size],
  ])
}

function answerIn({ status, headers, body }: JournalEntry): WireResponse {
  return { status: Number(status), headers: lowerCase(Object.entries(headers)), body: body ?? '' }
}
