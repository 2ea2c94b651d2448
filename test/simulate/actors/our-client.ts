import {
  type CallOptions,
  type Client,
  createClient,
  type RateLimitError,
} from '../../../adapters/client/index.js'
import type { Pet, RateLimit } from '../../../src/index.js'
import { seen } from '../model/pets.js'
import { CLIENT_DEFAULTS, withoutDefaults } from '../scenario.js'
import { ensure } from '../violation.js'
import { type Actor, type ActorContext, BASE_URL, type CallPlan, within } from './actor.js'
import { petOf, queryOf } from './pet-of.js'
import { watchWaits } from './watch-waits.js'

/** In ms: longer than any call. */
const LONG = 1e9

/** The client of the package, with or without keys for its creates. */
export function ourClient(context: ActorContext, idempotency: boolean): Actor {
  const { setting, fetch, clock, sleep, random, model } = context
  let key = ''
  let client: Client | undefined
  const clients: Client[] = []
  let open = 0

  return {
    async close() {
      for (const one of clients) {
        const { length } = one.snapshot().creates
        const message = () => `${length} creates of ${setting.name} are kept`
        ensure(length === 0, 'memory.bounded', message)
        const { rateLimit } = one
        const text = () => `${setting.name} takes its limit for ${JSON.stringify(rateLimit)}`
        ensure(isToldOf(rateLimit), 'client.answers', text)
        await one.close()
      }
    },
    async act(call) {
      // Some calls are given up.
      const patience = random() < 0.1 ? 3_000 * random() : LONG
      const end = clock() + patience
      open++
      await within(context, patience, signal => actNow(call, { signal }))
        .catch(explain)
        .finally(() => {
          open--
          ensure(clock() <= end + 1, 'client.ends', () => `${setting.name} goes on with a call`)
        })
    },
  }

  async function actNow(call: CallPlan, options: CallOptions): Promise<unknown> {
    if (call.do === 'create') return create(call, options)
    const current = clientNow()
    if (call.do === 'get') return checked(await current.getPet(call.id + 1, options))
    if (call.do === 'list')
      return (await current.listPets(queryOf(call, true), options)).map(checked)
    const before = [...model.state.history.pets.values()]
    const ids = new Set<unknown>()
    for await (const pet of current.all({}, options)) ids.add(checked(pet).id)
    const lost = before.find(
      pet => model.state.history.pets.get(pet.id) === pet && !ids.has(pet.id),
    )
    ensure(!lost, 'client.answers', () => `all() left out animal ${lost?.id}`)
    return
  }

  async function create(
    { pet }: Extract<CallPlan, { do: 'create' }>,
    options: CallOptions,
  ): Promise<void> {
    const created = checked(await clientNow().createPet(petOf(pet), options))
    const { id, name } = created
    const isOwn = name === pet.name && model.answered(name).has(id)
    ensure(isOwn, 'client.answers', () => `createPet returned ${id} ${name}`)
    const creates = context.sent.filter(({ request }) => request.method === 'POST')
    const isRight = creates.every(one => 'idempotency-key' in one.request.headers === idempotency)
    const message = () => `${setting.name} sent a create ${idempotency ? 'without' : 'with'} a key`
    ensure(isRight, 'client.answers', message)
  }

  /** An error says what some response has said, and when to come again. */
  function explain(error: Partial<RateLimitError> & Error): never {
    const { name, code, status, message, rateLimit, retryAt, retryAfter = 0 } = error
    const { maxConcurrent, maxQueued, maxRetries, maxWait, timeout, waitForBan } = setting.client
    const told = context.sent.map(({ response }) => response)
    const isSaid = told.some(one => one?.status === status && one?.body.includes(`"${code}"`))
    const isOfClient = /`maxWait`|is banned|without an Error body/.test(message)
    const isLater =
      retryAt === undefined || Math.abs(retryAt - clock() - retryAfter * 1_000) <= 1_000
    const isRight = code === undefined || ((isSaid || isOfClient) && isToldOf(rateLimit) && isLater)
    // It uses each key for one create.
    const isReused = code === 'idempotency_key_reused'
    const isForeign = told.some(one => one?.isForeign)
    const isContract = isForeign || (!context.options.pagination && /no pagination/.test(message))
    const isBroken = name !== 'ContractError' || isContract
    const failed = context.sent.filter(one => !one.isWhole || Number(one.response?.status) >= 408)
    const mayWait = code === 'api_key_banned' ? waitForBan : Number(retryAt) - clock() <= maxWait
    const isGivenUp = !mayWait || failed.length > maxRetries
    const since = clock() - timeout
    const isLate = context.sent.some(one => !one.isWhole && one.at <= since + 2)
    const isInTime = isLate || !/no response within/.test(message)
    const isFull = name !== 'QueueFullError' || open > maxConcurrent + maxQueued
    const text = () => `${setting.name} got ${name} ${message} ${JSON.stringify(error)}`
    ensure(
      isRight && isGivenUp && isInTime && isFull && isBroken && !isReused,
      'client.answers',
      text,
    )
    throw error
  }

  /** True if some response has announced it. */
  function isToldOf(rateLimit: RateLimit | undefined): boolean {
    const isIn = (headers: Readonly<Record<string, string>> = {}) =>
      (['limit', 'remaining', 'reset'] as const).every(
        name => `${rateLimit?.[name]}` === headers[`x-ratelimit-${name}`],
      )
    return !rateLimit || context.sent.some(({ response }) => isIn(response?.headers))
  }

  /** A new one for a new key; calls of the old one end as they can. */
  function clientNow(): Client {
    if (client && key === context.key()) return client
    key = context.key()
    const options = {
      ...{ baseUrl: BASE_URL, apiKey: key, fetch, clock, random, idempotency },
      // Without `sleep`, the client uses the timers of the platform.
      ...(idempotency && { sleep }),
      ...withoutDefaults(setting.client, CLIENT_DEFAULTS),
      ...watchWaits(context),
    }
    client = createClient(options)
    clients.push(client)
    return client
  }

  function checked(pet: Pet): Pet {
    const { name, text } = seen(pet)
    const expected = model.textOf(name)
    ensure(text === expected, 'client.answers', () => `the client read ${text}, not ${expected}`)
    return pet
  }
}
