import { politeFetch } from '../../../adapters/client/index.js'
import { type Actor, type ActorContext, BASE_URL } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'

/** A program that calls the API through `politeFetch`. */
export function politeFetchUser(context: ActorContext): Actor {
  const { setting, fetch, clock, sleep, random, key, hasIdempotency } = context
  const maxConcurrent = Math.min(10, setting.limits.banAfter)
  const options = { limits: 'x-ratelimit', clock, sleep, random, maxConcurrent } as const
  // One for all keys of a customer, who has one budget.
  const send = politeFetch(fetch, options)
  let keys = 0

  return {
    close: send.close,
    async act(call) {
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
      const target =
        call.do === 'list' ? targetOf(call) : call.do === 'get' ? `/pets/${call.id}` : '/pets'
      return (await send(BASE_URL + target, { headers: authorization })).text()
    },
  }
}
