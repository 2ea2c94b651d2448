import { type Actor, type ActorContext, BASE_URL, type CallPlan, impatient } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'

/** A client that waits for nothing, retries everything at once, and sends nonsense now and then. */
export function rude(context: ActorContext): Actor {
  const { setting, key, random, hasIdempotency } = context
  const fetch = impatient(context)
  let creates = 0
  let reused = { name: '', body: '' }

  return {
    async act(call) {
      const requests = requestsOf(call)
      await Promise.all(requests.map(request => hammer(request)))
    },
  }

  async function hammer([target, init]: Sent): Promise<void> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const response = await fetch(BASE_URL + target, init).catch(() => undefined)
      const text = await response?.text().catch(() => undefined)
      if (response && text !== undefined && response.status < 429) return
    }
  }

  function requestsOf(call: CallPlan): Sent[] {
    const headers = { authorization: `Bearer ${key()}` }
    if (call.do === 'create') return createsOf(bodyOf(call.pet), headers)
    if (call.do === 'list') return [[targetOf(call), { headers }]]
    if (call.do === 'get') return [[`/pets/${call.id}`, { headers }]]
    if (call.do === 'all') return Array.from({ length: 12 }, () => ['/pets?limit=100', { headers }])
    const odd = ODD[call.which % ODD.length] as (headers: Headers) => Sent
    return [odd(headers)]
  }

  /** With a key, all attempts have the same; some come twice, some with the key of another animal. */
  function createsOf(body: string, given: Headers): Sent[] {
    const headers = { ...given, 'content-type': 'application/json' }
    const name = `${setting.name.replace(' ', '-')}-${++creates}`
    const chance = random()
    const isNamed = hasIdempotency && chance < 0.7
    const isReused = isNamed && chance < 0.1 && reused.name !== ''
    const own = isNamed ? { 'idempotency-key': isReused ? reused.name : name } : {}
    if (isNamed && !isReused) reused = { name, body }
    const sent: Sent = ['/pets', { method: 'POST', headers: { ...headers, ...own }, body }]
    return isNamed && chance > 0.3 ? [sent, sent] : [sent]
  }
}

type Headers = Readonly<Record<string, string>>
type Sent = [target: string, init: RequestInit]

const ASKS = { 'access-control-request-method': 'POST' }
const JSON_TYPE = { 'content-type': 'application/json' }

const ODD: readonly ((headers: Headers) => Sent)[] = [
  () => ['/pets', {}],
  () => ['/pets', { headers: { authorization: 'Bearer guessed' } }],
  () => ['/pets', { headers: { authorization: 'Basic abc' } }],
  headers => ['/pets?limit=0', { headers }],
  headers => ['/pets?limit=101', { headers }],
  headers => ['/pets?status=eaten', { headers }],
  headers => ['/pets/abc', { headers }],
  headers => ['/pets/0', { headers }],
  headers => ['/pets/9007199254740993', { headers }],
  headers => ['/nope', { headers }],
  headers => ['/pets', { method: 'HEAD', headers }],
  headers => ['/pets/3', { method: 'HEAD', headers }],
  () => ['/pets', { method: 'OPTIONS', headers: { origin: 'http://a.test', ...ASKS } }],
  headers => ['/pets', { headers: { ...headers, origin: 'http://a.test' } }],
  headers => ['/pets', { method: 'DELETE', headers }],
  headers => ['/pets/1', { method: 'PUT', headers: { ...headers, ...JSON_TYPE }, body: '{}' }],
  headers => ['/pets', { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: '{"name":' }],
  headers => ['/pets', { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: '{}' }],
  headers => [
    '/pets',
    { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: '{"name":1,"categoryId":1.5}' },
  ],
  headers => [
    '/pets',
    { method: 'POST', headers: { ...headers, ...JSON_TYPE }, body: `"${'x'.repeat(1_048_576)}"` },
  ],
]
