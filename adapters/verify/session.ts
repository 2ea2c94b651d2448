import { readLimits } from '../client/headers.js'
import { createTime } from '../client/time.js'
import { type Budget, createBudget } from './budget.js'
import type { Call, Reply, Subject } from './check.js'
import { type Credential, createRedaction, KEY } from './credentials.js'
import { createDeadline } from './deadline.js'
import { CheckSkipped } from './failure.js'
import type { ReadOptions } from './options.js'
import { createSpareKey } from './spare-key.js'
import { createTransport } from './transport.js'

/** The server under test and what is known about it. */
export interface Session extends Subject {
  categoryId: Subject['categoryId']
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

export function createSession(options: ReadOptions): Session {
  const { readOnly, openApiUrl = '' } = options
  const time = createTime(options.clock, options.sleep)
  const deadline = createDeadline(time, options)
  const redaction = createRedaction(options)
  const transport = createTransport(options, redaction)
  const budgets = new Map<Credential['budget'], Budget>()
  const run = time.now().toString(36)
  const seen: Reply[] = []
  let created = 0
  let ahead = 0
  let description: Promise<Reply> | undefined
  let watched: Watched = { breakdown: undefined }
  const now = () => time.now() + ahead

  return {
    origin: transport.origin,
    basePath: transport.basePath,
    readOnly,
    seen,
    categoryId: 1,
    get requests() {
      return transport.requests
    },
    get created() {
      return created
    },
    budget: budgetOf(KEY),
    watch() {
      watched = { breakdown: undefined }
      return watched
    },
    redact: redaction.redact,
    send,
    once: createMemory(send),
    sendTogether,
    ...createSpareKey(send, now),
    name: label => `[verify ${run}] ${label}`,
    now,
    description: () => (description ??= download()),
    async wait(ms, reason) {
      if (!deadline.allows(ms)) {
        const seconds = Math.ceil(ms / 1000)
        throw new CheckSkipped(`a wait of ${seconds} s is longer than maxWaitMs allows`)
      }
      await deadline.wait(ms, reason)
    },
  }

  async function send(call: Call): Promise<Reply> {
    const budget = budgetOf(call.as ?? KEY)
    // The reply may come when another check has begun.
    const mine = watched
    for (;;) {
      if (!call.impatient) await budget.ready()
      const reply = await transport.send(call)
      budget.note(reply)
      note(mine, reply, call.method)
      if (reply.status !== 429 || call.impatient || call.keeps429) return reply
      await budget.rejected(reply)
    }
  }

  async function sendTogether(calls: readonly Call[]): Promise<readonly Reply[]> {
    const mine = watched
    for (;;) {
      for (const { as = KEY } of calls) await budgetOf(as).ready()
      const replies = await transport.sendTogether(calls)
      for (const [at, { as = KEY, method }] of calls.entries()) {
        budgetOf(as).note(replies[at] as Reply)
        note(mine, replies[at] as Reply, method)
      }
      const rejection = replies.find(({ status }) => status === 429)
      if (!rejection) return replies
      await budgetOf(KEY).rejected(rejection)
    }
  }

  async function download(): Promise<Reply> {
    const mine = watched
    const reply = await transport.download(openApiUrl)
    note(mine, reply)
    return reply
  }

  function note(mine: Watched, reply: Reply, method?: string): void {
    if (isBreakdown(reply, method)) mine.breakdown ??= reply
    const { sentAt } = readLimits(reply.headers)
    if (sentAt !== undefined) ahead = sentAt - time.now()
    if (reply.status === 201) created++
    seen.push({ ...reply, body: reply.status < 400 ? '' : reply.body.slice(0, LONGEST_ERROR) })
  }

  function budgetOf({ budget: owner }: Credential): Budget {
    const name = owner === 'no key' ? 'address without a key' : owner
    const budget = budgets.get(owner) ?? createBudget({ name, time, deadline })
    budgets.set(owner, budget)
    return budget
  }
}

/** Of an Error body, in characters. */
const LONGEST_ERROR = 65_536
/** Characters of all replies that `once` keeps. */
const MOST_KNOWN = 4 * 1_048_576

function createMemory(send: Subject['send']): Subject['once'] {
  const known = new Map<string, Promise<Reply>>()
  let size = 0
  /** A server that sends megabytes each time is asked again instead. */
  const remember = (name: string, reply: Reply) => {
    size += reply.body.length
    if (size > MOST_KNOWN) known.delete(name)
    return reply
  }

  return call => {
    const { method, path, headers, body, as } = call
    const name = JSON.stringify([method, path, headers, body, as?.label])
    const reply = known.get(name) ?? send(call).then(came => remember(name, came))
    known.set(name, reply)
    return reply
  }
}

/** RFC 9110 §15.6: the server says that it failed, or with 501, that it does not have a method. */
function isBreakdown({ status }: Reply, method = 'GET'): boolean {
  const isRequired = method === 'GET' || method === 'POST'
  return status >= 500 && (status !== 501 || isRequired)
}
