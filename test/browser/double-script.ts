import type { createTestDouble } from '../../adapters/test-double/index.js'

/** What a test does with a double, as plain data: the same in every runtime. */
export async function runDoubleScript(create: typeof createTestDouble): Promise<unknown> {
  const double = create({ baseUrl: 'https://api.example.com/v1' })
  const seen: unknown[] = []
  const headers = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }
  const call = async (path: string, init: RequestInit = {}) => {
    const answer = await double.fetch(path, { headers, ...init })
    seen.push([answer.status, answer.headers.get('x-ratelimit-remaining'), await answer.text()])
  }
  await double.seed([{ name: 'Ada', categoryId: 9223372036854775807n }])
  await call('pets', { method: 'POST', body: '{"name":"Zoë 🐈","categoryId":2}' })
  await call(`${double.baseUrl}/pets?limit=1`)
  await call('pets/7')
  for (const kind of ['reset', 'truncate', 'malformed'] as const) {
    double.faults.arm({ kind })
    await call('pets').catch(error => seen.push([kind, error.name]))
  }
  double.faults.arm({ kind: 'status', status: 503, retryAfter: 30 })
  const waited = await double.run(async () => {
    const before = double.clock.now()
    const answer = await double.fetch('pets', { headers })
    await double.clock.sleep(Number(answer.headers.get('retry-after')) * 1_000)
    await call('pets')
    return double.clock.now() - before
  })
  seen.push(waited)
  const snapshot = await double.snapshot()
  const digest = await double.digest()
  double.reset()
  seen.push((await double.digest()) === digest)
  await double.restore(snapshot)
  seen.push((await double.digest()) === digest, digest)
  seen.push(
    double.requests().map(({ n, status, fault, requestBody }) => [n, status, fault, requestBody]),
  )
  seen.push(double.report())
  return seen
}
