import type { Int64 } from '../../src/lib/int64.js'
import { toJson } from '../../src/lib/json.js'
import { readLimits } from '../client/headers.js'
import { createTime } from '../client/time.js'
import { type Budget, createBudget } from './budget.js'
import type { Call, Credential, RawCall, RawExchange, Reply, Sample, Subject } from './check.js'
import { createCredentials } from './credentials.js'
import { isObject, jsonOf } from './expect.js'
import { CheckSkipped } from './failure.js'
import type { ReadOptions } from './options.js'
import { createPatience } from './patience.js'
import { createSpareKey } from './spare-key.js'
import { createTransport } from './transport.js'

/** The server under test and what is known about it. */
export interface Session extends Subject {
  categoryId: Int64
  /** How many requests were sent. */
  readonly requests: number
  /** Of the API key. */
  readonly budget: Budget
  /** Begins a check: what is sent from here on belongs to it. */
  watch(): Watched
  /** Replaces keys by their labels. */
  redact(text: string): string
}

/** What came in response to the requests of one check. */
export interface Watched {
  /** The first reply by which the server says that it failed; undefined if there is none. */
  breakdown: Reply | undefined
}

/** Characters of all replies that `once` keeps. */
const MOST_KNOWN = 4 * 1_048_576

export function createSession(options: ReadOptions): Session {
  const { readOnly, openApiUrl = '', maxWaitMs, onWait } = options
  const time = createTime(options.clock, options.sleep)
  const patience = createPatience(time, maxWaitMs, onWait)
  const { credentials, redact } = createCredentials(options)
  const transport = createTransport(options, redact)
  const budgets = new Map<Credential['budget'], Budget>()
  const known = new Map<string, Promise<Reply>>()
  let knownBytes = 0
  let created = 0
  const run = time.now().toString(36)
  let ahead = 0
  let description: Promise<Reply> | undefined
  let watched: Watched = { breakdown: undefined }

  const now = () => time.now() + ahead
  const spareKey = createSpareKey(
    call => send({ ...call, as: credentials.spare as Credential, impatient: true }),
    now,
  )

  const session: Session = {
    credentials,
    basePath: transport.basePath,
    readOnly,
    hasSockets: options.fetch === undefined,
    categoryId: 1,
    get requests() {
      return transport.requests
    },
    budget: budgetOf(credentials.valid),
    watch() {
      watched = { breakdown: undefined }
      return watched
    },
    redact,
    send,
    once,
    exchange,
    creation,
    sample,
    fill,
    ...spareKey,
    name: label => `[verify ${run}] ${label}`,
    now,
    description: () => (description ??= download()),
    async wait(ms, reason) {
      if (!patience.allows(ms)) {
        throw new CheckSkipped(
          `a wait of ${Math.ceil(ms / 1000)} s is longer than maxWaitMs allows`,
        )
      }
      await patience.wait(ms, reason)
    },
  }
  return session

  async function send(call: Call): Promise<Reply> {
    const credential = call.as ?? credentials.valid
    const budget = budgetOf(credential)
    // The reply may come when another check has begun.
    const mine = watched
    for (;;) {
      if (!call.impatient) await budget.ready()
      const reply = await transport.send(call, credential)
      budget.note(reply)
      if (isBreakdown(reply, call.method)) mine.breakdown ??= reply
      const { sentAt } = readLimits(reply.headers)
      if (sentAt !== undefined) ahead = sentAt - time.now()
      if (reply.status === 201) created++
      if (reply.status !== 429 || call.impatient || call.keeps429) return reply
      await budget.rejected(reply)
    }
  }

  function once(call: Call): Promise<Reply> {
    const { method, path, headers, body, as } = call
    const name = JSON.stringify([method, path, headers, body, as?.label])
    const reply = known.get(name) ?? send(call).then(came => remember(name, came))
    known.set(name, reply)
    return reply
  }

  /** A server that sends megabytes each time is asked again instead. */
  function remember(name: string, reply: Reply): Reply {
    knownBytes += reply.body.length
    if (knownBytes > MOST_KNOWN) known.delete(name)
    return reply
  }

  async function fill(count: number): Promise<void> {
    if (readOnly) return
    for (let number = created; number < count; number++) {
      const body = toJson({ name: session.name('one of many'), categoryId: session.categoryId })
      const { status } = await send({ method: 'POST', path: '/pets', body })
      if (status !== 201) throw new CheckSkipped('too few animals could be created')
    }
  }

  async function exchange(call: RawCall): Promise<RawExchange> {
    const { budget } = session
    const mine = watched
    for (;;) {
      await budget.ready()
      const came = await transport.exchange(call, credentials.valid)
      mine.breakdown ??= came.replies.find((reply, at) => isBreakdown(reply, call.methods[at]))
      // A refusal may be counted for the address instead.
      for (const reply of came.replies) if (reply.status < 400) budget.note(reply)
      const rejection = came.replies.find(({ status }) => status === 429)
      if (!rejection) return came
      await budget.rejected(rejection)
    }
  }

  function creation(status: Sample['status']): Promise<Reply> {
    const body = toJson({ name: session.name(status), categoryId: session.categoryId, status })
    return once({ method: 'POST', path: '/pets', body })
  }

  async function download(): Promise<Reply> {
    const mine = watched
    const reply = await transport.download(openApiUrl)
    if (isBreakdown(reply)) mine.breakdown ??= reply
    return reply
  }

  async function sample(status: Sample['status']): Promise<Sample> {
    if (readOnly) throw new CheckSkipped('needs an animal, and the run is read-only')
    const created = await creation(status)
    const pet = await jsonOf(created).catch(() => undefined)
    if (!isObject(pet) || created.status >= 300) {
      throw new CheckSkipped('no animal could be created')
    }
    return { created, id: pet['id'] as Int64, name: session.name(status), status }
  }

  function budgetOf({ budget: owner }: Credential): Budget {
    const name = owner === 'no key' ? 'address without a key' : owner
    const budget = budgets.get(owner) ?? createBudget({ name, time, patience })
    budgets.set(owner, budget)
    return budget
  }
}

/** RFC 9110 §15.6: the server says that it failed, or with 501, that it does not have a method. */
function isBreakdown({ status }: Reply, method = 'GET'): boolean {
  const isRequired = method === 'GET' || method === 'POST'
  return status >= 500 && (status !== 501 || isRequired)
}
