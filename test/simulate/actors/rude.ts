import { type Choices, choicesOf } from '../random.js'
import { type Actor, type ActorContext, BASE_URL, type CallPlan, impatient } from './actor.js'
import { bodyOf, targetOf } from './pet-of.js'

/** A client that waits for nothing, retries everything at once, and sends nonsense now and then. */
export function rude(context: ActorContext): Actor {
  const { setting, key, random, hasIdempotency, options } = context
  const fetch = impatient(context)
  let [creates, odd] = [0, Math.floor(random() * 1e6)]
  let reused = { name: '', body: '' }

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
    if (call.do === 'list') return [[targetOf(call), { headers }], ...oddRequests(3)]
    if (call.do === 'get') return [[targetOf(call), { headers }]]
    if (call.do === 'all') return Array.from({ length: 8 }, () => ['/pets?limit=100', { headers }])
    return oddRequests(5)
  }

  function oddRequests(length: number): Sent[] {
    return Array.from({ length }, () => oddRequest(choicesOf(setting.name, ++odd), key()))
  }

  /** With a key, all attempts have the same; some come twice, some with the key of another animal. */
  function createsOf(body: string, given: Headers): Sent[] {
    const headers = { ...given, 'content-type': TYPES[creates % 3] as string }
    const name = `${setting.name.replace(' ', '-')}-${++creates}`
    const chance = random()
    const isNamed = hasIdempotency && chance < 0.7
    const isReused = isNamed && chance < 0.1 && reused.name !== ''
    const written = NAMED[creates % NAMED.length]?.(name) ?? name
    const own = isNamed ? { 'idempotency-key': isReused ? reused.name : written } : {}
    if (isNamed && !isReused) reused = { name: written, body }
    // Where the limit is small, some bodies are exactly as long.
    const isLongest = options.maxBodyBytes < SMALL && creates % 3 === 0
    const padded = isLongest ? body.padEnd(options.maxBodyBytes) : body
    const sent: Sent = ['/pets', { method: 'POST', headers: { ...headers, ...own }, body: padded }]
    return isNamed && chance > 0.3 ? [sent, sent] : [sent]
  }
}

type Headers = Readonly<Record<string, string>>
type Sent = [target: string, init: RequestInit]

/** In bytes: a limit below it is a small one. */
const SMALL = 1_000

/** Ways to write an idempotency key, at its longest too. */
const NAMED: readonly ((name: string) => string)[] = [
  name => name,
  name => `"${name} \\"\\\\"`,
  name => name.padEnd(255, 'x'),
]

/** A request of which some parts are unusual, and may be wrong. */
function oddRequest({ chance, pick }: Choices, key: string): Sent {
  const odd = <T>(usual: T, others: readonly T[]) => (chance(0.3) ? pick(others) : usual)
  const method = pick(METHODS)
  const headers: Headers = {
    ...odd(bearer(key), [...CREDENTIALS, bearer(key, 'bearer   '), bearer(key, '')]),
    ...odd({}, [{ origin: 'http://a.test' }, { ...ASKS, origin: 'http://a.test' }, ASKS]),
  }
  const secret = [key, key.replace('-', '%2D')].map(name => `?limit=${name}`)
  const isOwn = headers['authorization']?.includes(key)
  if (/GET|HEAD|OPTIONS/.test(method)) {
    const query = odd('', isOwn ? [...QUERIES, ...secret] : QUERIES)
    return [odd('/pets', PATHS) + query, { method, headers }]
  }
  const about = {
    'content-type': odd('application/json', TYPES),
    ...odd({}, [{ 'content-encoding': 'gzip' }, { 'content-encoding': 'identity' }]),
    ...odd({}, KEYS),
  }
  return [
    odd('/pets', PATHS),
    {
      method,
      headers: { ...headers, ...about },
      body: pick(isOwn ? [...BODIES, `["${key}"]`] : BODIES),
    },
  ]
}

function bearer(key: string, scheme = 'Bearer '): Headers {
  return { authorization: scheme + key }
}

const METHODS = ['GET', 'GET', 'GET', 'HEAD', 'OPTIONS', 'POST', 'POST', 'POST', 'DELETE', 'PUT']
const ASKS: Headers = { 'access-control-request-method': 'POST' }
const CREDENTIALS: readonly Headers[] = [
  ...[{}, { 'x-api-key': 'guessed' }, bearer('guessed'), bearer('', ''), bearer('', 'Bearer')],
  bearer('abc', 'Basic '),
]
const PATHS = [
  ...['/pets/1', '/pets/%32', '/pets/03', '/pets/0', '/pets/xyz', '/pets/9007199254740993'],
  ...['/pets/9007199254740991', '/pets/', '/pets/1/2', '/petsx', '', '/nope', 'x/pets'],
]
const QUERIES = [
  ...['?limit=0', '?limit=1', '?limit=100', '?limit=101', '?limit=', '?limit=0x7', '?limit=1.0'],
  ...['?limit=2&limit=2', '?status=eaten', '?status=', '?status=sold&status=sold', '?page=2'],
  ...[
    '?after=-1',
    '?after=0',
    '?after=x',
    '?after=1&after=1',
    '?after=9007199254740993',
    '??limit=0',
  ],
]
/** The first three are right. */
const TYPES = [
  ...['application/json', 'APPLICATION/JSON;charset=utf-8', '', 'text/plain'],
  ...['application/jsonx', 'x application/json'],
]
const KEYS: readonly Headers[] = ['', '""', 'a b', '"é"', 'x'.repeat(256), '"a"b"'].map(name => ({
  'idempotency-key': name,
}))
/** All of them are wrong. */
const BODIES = [
  ...['', '{"name":', '[]', 'null', '"x"', `"${'x'.repeat(1_048_576)}"`, '{}', '{"name":"x"}'],
  ...['{"categoryId":1}', '{"name":1,"categoryId":1}', '{"name":null,"categoryId":"1"}'],
  ...['{"name":"x","categoryId":1.5}', '{"name":"x","categoryId":9223372036854775808}'],
  ...['{"name":"x","categoryId":-9223372036854775809}', '{"name":"x","categoryId":null}'],
  ...['{"name":"x","categoryId":1,"status":"eaten"}', '{"name":"x","categoryId":1,"status":null}'],
  `${'['.repeat(1_001)}${']'.repeat(1_001)}`,
]
