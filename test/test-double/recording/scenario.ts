import fc from 'fast-check'
import { splitTarget } from '../../../adapters/http/target-and-body.js'
import type {
  Fault,
  Snapshot,
  TestDouble,
  TestDoubleOptions,
} from '../../../adapters/test-double/index.js'
import type { ApiKey, NewPet } from '../../../src/index.js'
import { anyCodePoint } from '../../support/any-text.js'

/** Something that a test does to a double. */
export type Deed =
  | { readonly do: 'send'; readonly to: Target; readonly call: Call }
  | { readonly do: 'burst'; readonly calls: readonly Call[] }
  | { readonly do: 'late'; readonly call: Call }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'set'; readonly ms: number }
  | { readonly do: 'auto'; readonly on: boolean }
  | { readonly do: 'arm'; readonly fault: Fault }
  | { readonly do: 'seed'; readonly animals: readonly NewPet[] }
  | { readonly do: 'key'; readonly key: string; readonly record: ApiKey }
  | { readonly do: 'save' | 'restore' | 'reset' | 'clear-requests' }
  /** One, or all where there is none. */
  | { readonly do: 'clear-faults'; readonly nth: number }
  | { readonly do: 'world'; readonly animals: readonly NewPet[] | undefined }
  | { readonly do: 'end-world' }

type Target = 'double' | 'world'

export interface Call {
  readonly method: string
  readonly path: string
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export interface Scenario {
  readonly options: TestDoubleOptions
  readonly deeds: readonly Deed[]
}

export interface Door {
  send(path: string, init: RequestInit): Promise<unknown>
  close(): Promise<void>
}

export type OpenDoor = (double: Pick<TestDouble, 'handler' | 'listen'>) => Promise<Door>

export const inProcess: OpenDoor = async ({ handler }) => ({
  async send(path, { method = 'GET', headers, body }) {
    const own = headers as Record<string, string>
    const target = { ...splitTarget(path), client: '127.0.0.1' }
    return handler.handle({ method, ...target, headers: own, body: body as string | undefined })
  },
  async close() {},
})

const SECRET = 'k3y-that-must-not-leak'
const KEYS = {
  [SECRET]: {
    id: 'ci',
    plan: 'enterprise',
    limits: { perMinute: 3, perDay: 20, banAfterRejections: 2 },
  },
  k7: { id: 'short', plan: 'free' },
  'demo-pro': { id: 'demo-pro', plan: 'pro' },
} as const

const animal = fc.record(
  {
    name: fc.string({ unit: anyCodePoint, maxLength: 8 }),
    categoryId: fc.oneof(fc.nat(9), fc.bigInt({ min: 2n ** 60n, max: 2n ** 63n - 1n })),
    status: fc.constantFrom('available', 'pending', 'sold' as const),
  },
  { requiredKeys: ['name', 'categoryId'] },
) as fc.Arbitrary<NewPet>

const PATHS = 'pets pets?limit=2 pets?status=sold pets?limit=0 pets/1 pets/9 none'.split(' ')

const call: fc.Arbitrary<Call> = fc
  .record({
    key: fc.constantFrom(SECRET, SECRET, 'k7', 'demo-pro', 'nobody', ''),
    kind: fc.oneof(
      animal.map(pet => ({ method: 'POST', path: 'pets', body: textOf(pet) })),
      fc.constantFrom(...PATHS.map(path => ({ method: 'GET', path, body: undefined }))),
      fc.constantFrom(
        { method: 'POST', path: 'pets', body: '{"name":1' },
        { method: 'DELETE', path: 'pets', body: undefined },
      ),
    ),
    once: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
  })
  .map(({ key, kind, once }) => ({
    ...kind,
    key,
    headers: {
      ...(kind.body !== undefined && { 'content-type': 'application/json' }),
      ...(once !== undefined && { 'idempotency-key': once }),
    },
  }))

const fault = fc
  .tuple(
    fc.constantFrom<Fault[]>(
      { kind: 'status', status: 503, retryAfter: 2 },
      { kind: 'status', status: 500, when: 'after' },
      { kind: 'status', status: 429, retryAfter: { date: 30 }, body: `{"of":"${SECRET}"}` },
      { kind: 'reset' },
      { kind: 'truncate' },
      { kind: 'malformed' },
      { kind: 'delay', duration: 1_500 },
      { kind: 'status', status: 502, chance: 0.5, seed: 7 },
    ),
    fc.constantFrom({}, { times: 2 }),
    fc.constantFrom({}, {}, { keyId: 'ci' }),
  )
  .map(parts => Object.assign({}, ...parts) as Fault)

const deed = fc.oneof(
  some(8, 'send', { to: fc.constantFrom<Target[]>('double', 'double', 'world'), call }),
  some(3, 'burst', { calls: fc.array(call, { minLength: 2, maxLength: 4 }) }),
  some(1, 'late', { call }),
  some(2, 'advance', { ms: fc.constantFrom(1, 1_500, 61_000, 86_400_000) }),
  some(1, 'set', { ms: fc.constantFrom(1_893_456_059_999, 1_893_369_600_000) }),
  some(1, 'auto', { on: fc.boolean() }),
  some(3, 'arm', { fault }),
  some(1, 'seed', { animals: fc.array(animal, { maxLength: 3 }) }),
  some(1, 'key', {
    key: fc.constant('added-later-1234'),
    record: fc.constant({ id: 'late', plan: 'free' }),
  }),
  some(1, 'save'),
  some(1, 'restore'),
  some(1, 'reset'),
  some(2, 'clear-faults', { nth: fc.nat(2) }),
  some(1, 'clear-requests'),
  some(1, 'world', { animals: fc.option(fc.array(animal, { maxLength: 2 }), { nil: undefined }) }),
  some(1, 'end-world'),
) as fc.Arbitrary<Deed>

function some(weight: number, act: Deed['do'], fields: Record<string, fc.Arbitrary<unknown>> = {}) {
  return { weight, arbitrary: fc.record({ do: fc.constant(act), ...fields }) }
}

export const TOKEN = 'a-token_of-24-characters'
const CONTROL = `/_control/${TOKEN}`

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  options: fc.record({
    apiKeys: fc.constant(KEYS),
    control: fc.constant(TOKEN),
    time: fc.constantFrom('2030-01-01T00:00:30Z', '2030-12-04T23:59:30Z', 'running'),
    idempotency: fc.constantFrom(null, { ttl: 60_000 }),
    pagination: fc.boolean(),
    defaultStatus: fc.constantFrom(null, 'pending' as const),
    snapshot: fc.constantFrom(
      { pets: [], nextId: 1 },
      { pets: [{ id: 3, name: 'Ada', categoryId: 2n ** 62n, status: 'sold' as const }], nextId: 7 },
    ),
  }),
  deeds: fc.array(deed, { minLength: 1, maxLength: 14 }),
}) as unknown as fc.Arbitrary<Scenario>

/** Does all of it, one deed after the other. */
export async function act(
  double: TestDouble,
  deeds: readonly Deed[],
  door: Pick<Door, 'send'>,
): Promise<void> {
  let saved: Snapshot | undefined
  let world: string | undefined
  const waiting: Promise<unknown>[] = []
  for (const deed of deeds) await perform(deed)
  double.endDelays()
  await Promise.all(waiting)

  async function perform(deed: Deed): Promise<void> {
    switch (deed.do) {
      case 'send':
        if (deed.to === 'world' && world === undefined) return
        return finish(send(deed.call, deed.to === 'world' ? `/worlds/${world}/v1` : '/v1'))
      case 'burst':
        return finish(Promise.all(deed.calls.map(call => send(call, '/v1'))))
      case 'late': {
        // Its response may come after whatever follows.
        double.faults.arm({ kind: 'delay', duration: 2_000 })
        waiting.push(send(deed.call, '/v1'))
        return turns()
      }
      case 'advance':
        return double.clock.advance(deed.ms)
      case 'set':
        return double.clock.set(deed.ms)
      case 'auto':
        double.clock.auto = deed.on
        return
      case 'arm':
        return void double.faults.arm(deed.fault)
      case 'seed':
        return void (await double.seed(deed.animals).catch(() => {}))
      case 'key':
        try {
          return double.addKey(deed.key, deed.record)
        } catch {
          return
        }
      case 'save':
        saved = await double.snapshot()
        return
      case 'restore':
        return saved && double.restore(saved)
      case 'reset':
        return double.reset()
      case 'clear-faults':
        return double.faults.clear(double.faults.list()[deed.nth])
      case 'clear-requests':
        return double.clearRequests()
      case 'world': {
        const { id } = JSON.parse(
          await control('POST', `${CONTROL}/worlds`, { pets: deed.animals }),
        )
        world = id
        return
      }
      case 'end-world':
        if (world !== undefined) await control('DELETE', `${CONTROL}/worlds/${world}`)
        world = undefined
    }
  }

  /** However long its delays are. */
  async function finish(sending: Promise<unknown>): Promise<void> {
    let isDone = false
    const done = () => {
      isDone = true
    }
    sending.then(done, done)
    await turns()
    while (!isDone) {
      double.clock.advance(1_500)
      await turns()
    }
  }

  function send({ method, path, key, headers, body }: Call, base: string): Promise<unknown> {
    const all = { ...headers, ...(key !== '' && { authorization: `Bearer ${key}` }) }
    const init = { method, headers: all, ...(body !== undefined && { body }) }
    return door.send(`${base}/${path}`, init).catch(() => {})
  }

  async function control(method: string, path: string, value?: object): Promise<string> {
    const headers = { host: '127.0.0.1', 'content-type': 'application/json' }
    const body = value === undefined ? '' : textOf(value)
    const request = { method, path, query: '', headers, body, client: '127.0.0.1' }
    return (await double.handler.handle(request)).body
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise(resolve => setImmediate(resolve))
}

function textOf(value: object): string {
  return JSON.stringify(value, (_, field) =>
    typeof field === 'bigint' ? `int64:${field}` : field,
  ).replaceAll(/"int64:(\d+)"/g, '$1')
}
