import { type Actor, type ActorContext, BASE_URL, type CallPlan, impatient } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'

/** A client that waits for nothing, retries everything at once, and uses keys of other animals now and then. */
export function rude(context: ActorContext): Actor {
  const { setting, key, random, hasIdempotency } = context
  const fetch = impatient(context)
  let creates = 0
  let reused = ''

  return {
    async act(call) {
      const requests = requestsOf(call)
      await Promise.all(requests.map(request => hammer(request)))
    },
  }

  async function hammer([target, init]: Sent): Promise<void> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const response = await fetch(BASE_URL + target, init).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response && text !== undefined && response.status < 429) return
    }
  }

  function requestsOf(call: CallPlan): Sent[] {
    const headers = { authorization: `Bearer ${key()}` }
    if (call.do === 'create') return createsOf(bodyOf(call.pet), headers)
    if (call.do === 'all') return Array.from({ length: 8 }, () => ['/pets?limit=100', { headers }])
    return [[targetOf(call), { headers }]]
  }

  /** With a key, all attempts have the same; some come twice, some with the key of another animal. */
  function createsOf(body: string, given: Headers): Sent[] {
    const name = `${setting.name.replace(' ', '-')}-${++creates}`
    const chance = random()
    const isNamed = hasIdempotency && chance < 0.7
    const isReused = isNamed && chance < 0.1 && reused !== ''
    const own = isNamed ? { 'idempotency-key': isReused ? reused : name } : {}
    if (isNamed && !isReused) reused = name
    const headers = { ...given, 'content-type': 'application/json', ...own }
    const sent: Sent = ['/pets', { method: 'POST', headers, body }]
    return isNamed && chance > 0.3 ? [sent, sent] : [sent]
  }
}

type Headers = Readonly<Record<string, string>>
type Sent = [target: string, init: RequestInit]
