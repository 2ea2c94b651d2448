import { type PoliteFetch, politeFetch } from '../../../adapters/client/index.js'
import { choicesOf } from '../random.js'
import { CLIENT_DEFAULTS, withoutDefaults } from '../scenario.js'
import { ensureChecked } from '../wrong-input.js'
import { type Actor, type ActorContext, BASE_URL } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'
import { watchWaits } from './watch-waits.js'

/** A program that calls the API through `politeFetch`. */
export function politeFetchUser(context: ActorContext): Actor {
  const { setting, fetch, clock, sleep, random, key, hasIdempotency } = context
  const hasDraft = context.options.standardHeaders !== null
  const limits = hasDraft && random() < 0.5 ? 'ratelimit-draft' : 'x-ratelimit'
  const { waitForBan: _, ...client } = withoutDefaults(setting.client, CLIENT_DEFAULTS)
  const options = { limits, clock, sleep, random, ...client, ...watchWaits(context) } as const
  const all = new Map<string, PoliteFetch>()
  let keys = 0

  return {
    async close() {
      for (const send of all.values()) await send.close()
    },
    async act(call) {
      const send = sendNow()
      const authorization = { authorization: `Bearer ${key()}` }
      if (call.do === 'create') {
        const headers = {
          ...authorization,
          'content-type': 'application/json',
          ...(hasIdempotency && {
            'idempotency-key': `${setting.name.replace(' ', '-')}-${++keys}`,
          }),
        }
        const body = bodyOf(call.pet)
        return (await send(`${BASE_URL}/pets`, { method: 'POST', headers, body })).text()
      }
      return (await send(BASE_URL + targetOf(call), { headers: authorization })).text()
    },
  }

  /** One for each key: the limits in a 401, for one that was removed, are those of the address. */
  function sendNow(): PoliteFetch {
    const known = all.get(key())
    if (known) return known
    const send = politeFetch(fetch, options)
    const make = (wrong: typeof options) => politeFetch(fetch, wrong)
    ensureChecked(make, options, choicesOf(key(), random())).catch(context.fail)
    all.set(key(), send)
    return send
  }
}
