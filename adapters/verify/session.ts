import { readLimits } from '../client/rate-limit-headers.js'
import { createTime } from '../client/time.js'
import { CheckSkipped } from './check-failure.js'
import type { Call, Reply, Subject } from './check-types.js'
import { createdAnimals } from './created-animals.js'
import { type Credential, createRedaction, KEY } from './credentials.js'
import { createDeadline } from './deadline.js'
import { type Budget, createBudget } from './request-budget.js'
import { createSpareKey } from './spare-key.js'
import { createTransport } from './transport.js'
import type { ReadOptions } from './verify-options.js'

export interface Session extends Subject {
  categoryId: Subject['categoryId']
  status: Subject['status']
  readonly requestCount: number
  readonly budget: Budget
  /** Replaces keys by their labels. */
  redact(text: string): string
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
  const created = createdAnimals(transport.basePath)
  let ahead = 0
  let description: Promise<Reply> | undefined
  const now = () => time.now() + ahead

  return {
    origin: transport.origin,
    basePath: transport.basePath,
    readOnly,
    seen,
    categoryId: 1,
    status: 'available',
    get requestCount() {
      return transport.requestCount
    },
    budget: budgetOf(KEY),
    redact: redaction.redact,
    leaks: text => redaction.redact(text) !== text,
    send,
    once: createMemory(send),
    sendTogether: calls => deliver(calls, () => transport.sendTogether(calls)),
    ...createSpareKey(send, now),
    name: label => `[verify ${run}] ${label}`,
    now,
    description: () => (description ??= transport.download(openApiUrl).then(note)),
    async wait(ms, reason) {
      if (!deadline.allows(ms)) {
        const seconds = Math.ceil(ms / 1000)
        throw new CheckSkipped(`a wait of ${seconds} s is longer than maxWait allows`)
      }
      await deadline.wait(ms, reason)
    },
  }

  async function send(call: Call): Promise<Reply> {
    const deliverOne = async () => {
      const [reply] = await deliver([call], async () => [await transport.send(call)])
      return reply as Reply
    }
    let reply = await deliverOne()
    if (call.isImmediate) return reply
    for (const ms of LAGS) {
      if (created.missingIn(reply).length === 0 || !deadline.allows(ms)) return reply
      await deadline.wait(ms, 'retry')
      reply = await deliverOne()
    }
    created.forget(created.missingIn(reply))
    return reply
  }

  async function deliver(
    calls: readonly Call[],
    transmit: () => Promise<readonly Reply[]>,
  ): Promise<readonly Reply[]> {
    const [{ as = KEY, impatient, keeps429 } = {}] = calls as readonly Partial<Call>[]
    for (;;) {
      for (const call of impatient ? [] : calls) await budgetOf(call.as ?? KEY).ready()
      const replies = await transmit()
      for (const [at, reply] of replies.entries()) {
        budgetOf(calls[at]?.as ?? KEY).note(reply)
        note(reply)
      }
      const rejection = replies.find(({ status }) => status === 429)
      if (!rejection || impatient || keeps429) return replies
      await budgetOf(as).rejected(rejection)
    }
  }

  function note(reply: Reply): Reply {
    const { sentAt } = readLimits(reply.headers)
    if (sentAt !== undefined) ahead = sentAt - time.now()
    created.note(reply)
    seen.push({ ...reply, body: reply.status < 400 ? '' : reply.body.slice(0, LONGEST_ERROR) })
    return reply
  }

  function budgetOf({ budget: owner }: Credential): Budget {
    const name = owner === 'no key' ? 'address without a key' : owner
    const budget = budgets.get(owner) ?? createBudget(name, time, deadline)
    budgets.set(owner, budget)
    return budget
  }
}

/** Waits in ms for reads that lag behind creates, as `list.newest` and `get.newest` report. */
const LAGS = [100, 900, 4_000]
/** Maximum characters of an Error body. */
const LONGEST_ERROR = 65_536
/** Maximum characters of all replies that `once` keeps. */
const MOST_KNOWN = 4 * 1_048_576

function createMemory(send: Subject['send']): Subject['once'] {
  const known = new Map<string, Promise<Reply>>()
  let size = 0
  /** Large replies are not kept, but requested again. */
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
