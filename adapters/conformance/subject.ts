import type { Int64 } from '../../src/int64.js'
import { toJson } from '../../src/json.js'
import { readLimits } from '../client/headers.js'
import { createTime } from '../client/time.js'
import { type Budget, createBudget } from './budget.js'
import type { Call, Credential, RawCall, RawExchange, Reply, Sample, Subject } from './check.js'
import { createCredentials } from './credentials.js'
import { CheckSkipped, isObject, jsonOf, shorten } from './expect.js'
import { NoReply, reasonOf } from './no-reply.js'
import type { ReadOptions } from './options.js'

/** The server under test and what is known about it. */
export interface Session extends Subject {
  categoryId: Int64
  /** How many requests were sent. */
  readonly requests: number
  readonly budget: Budget
  /** Replaces keys by their labels. */
  redact(text: string): string
}

export function createSession(options: ReadOptions): Session {
  const { baseUrl, timeoutMs, openApiUrl } = options
  const base = baseUrl.replace(/\/+$/, '')
  const { pathname } = new URL(base)
  const time = createTime(options.clock, options.sleep)
  const { credentials, redact } = createCredentials(options)
  const budgets = new Map<Credential['budget'], Budget>()
  const known = new Map<string, Promise<Reply>>()
  const fetch = options.fetch ?? (request => globalThis.fetch(request))
  const run = time.now().toString(36)
  let requests = 0
  let ahead = 0
  let described: Promise<Reply> | undefined

  const session: Session = {
    credentials,
    basePath: pathname === '/' ? '' : pathname,
    readOnly: options.readOnly,
    categoryId: 1,
    get requests() {
      return requests
    },
    budget: budgetOf(credentials.valid),
    redact,
    send,
    once,
    exchange,
    name: label => `[verify ${run}] ${label}`,
    sample,
    async wait(ms, reason) {
      options.onWait({ ms, reason })
      await time.until(time.now() + ms)
    },
    now: () => time.now() + ahead,
    description: () => (described ??= download(openApiUrl ?? '')),
  }
  return session

  async function send(call: Call): Promise<Reply> {
    const credential = call.as ?? credentials.valid
    const budget = budgetOf(credential)
    for (;;) {
      if (!call.impatient) await budget.ready()
      const reply = await transmit(requestOf(call, credential), inWords(call, credential))
      budget.note(reply)
      const { sentAt } = readLimits(reply.headers)
      if (sentAt !== undefined) ahead = sentAt - time.now()
      if (reply.status !== 429 || call.impatient) return reply
      await budget.rejected(reply)
    }
  }

  function once(call: Call): Promise<Reply> {
    const { method, path, headers, body, as } = call
    const name = JSON.stringify([method, path, headers, body, as?.label])
    const reply = known.get(name) ?? send(call)
    known.set(name, reply)
    return reply
  }

  /** Without the key: the description may lie elsewhere. */
  function download(url: string): Promise<Reply> {
    const signal = AbortSignal.timeout(timeoutMs)
    return transmit(new Request(url, { redirect: 'manual', signal }), `GET ${url}, without a key`)
  }

  async function transmit(request: Request, sent: string): Promise<Reply> {
    requests++
    try {
      const response = await fetch(request)
      const { status, headers } = response
      return { sent, status, headers, body: await response.text() }
    } catch (error) {
      throw new NoReply(sent, reasonOf(error))
    }
  }

  function requestOf({ method = 'GET', path, headers, body }: Call, as: Credential): Request {
    return new Request(`${base}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        'user-agent': 'animal-adoption-store verify',
        ...(as.authorization !== undefined && { authorization: as.authorization }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
  }

  async function exchange(call: RawCall): Promise<RawExchange> {
    for (;;) {
      await session.budget.ready()
      const came = await write(call)
      const rejection = came.replies.find(({ status }) => status === 429)
      if (!rejection) return came
      await session.budget.rejected(rejection)
    }
  }

  async function write({ what, text, methods }: RawCall) {
    const url = new URL(base)
    const bytes = text
      .replaceAll('{host}', url.host)
      .replaceAll('{origin}', url.origin)
      .replaceAll('{base}', session.basePath)
      .replaceAll('{key}', `${credentials.valid.authorization}`)
    const sent = `${what}, as bytes`
    requests += methods.length
    try {
      const { exchangeBytes } = await import('./raw-exchange.js')
      const came = await exchangeBytes({ url, text: bytes, methods, timeoutMs, sent })
      for (const reply of came.replies) if (reply.status < 400) session.budget.note(reply)
      return came
    } catch (error) {
      throw new NoReply(sent, reasonOf(error))
    }
  }

  async function sample(status: Sample['status']): Promise<Sample> {
    if (options.readOnly) throw new CheckSkipped('needs an animal, and the run is read-only')
    const name = session.name(status)
    const body = toJson({ name, categoryId: session.categoryId, status })
    const created = await once({ method: 'POST', path: '/pets', body })
    const pet = await jsonOf(created).catch(() => undefined)
    if (!isObject(pet) || created.status >= 300) {
      throw new CheckSkipped('no animal could be created')
    }
    return { created, id: pet['id'] as Int64, name, status }
  }

  function budgetOf({ budget: owner }: Credential): Budget {
    const { maxWaitMs, onWait } = options
    const name = owner === 'no key' ? 'address without a key' : owner
    const budget = budgets.get(owner) ?? createBudget({ name, time, maxWaitMs, onWait })
    budgets.set(owner, budget)
    return budget
  }
}

function inWords({ method = 'GET', path, body, headers = {} }: Call, { label }: Credential) {
  const fields = Object.entries(headers).map(([name, value]) => `, ${name}: ${shorten(value, 100)}`)
  const text = typeof body === 'string' ? body : body && `${body.length} bytes`
  const content = text === undefined ? '' : ` with ${shorten(text, 160) || 'an empty body'}`
  return `${method} ${shorten(path, 160)}${content}${fields.join('')}, ${label}`
}
