import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { explore, runSchedule, type Work } from '../../../adapters/test-double/index.js'

const HEADERS = { authorization: 'Bearer demo-pro', 'content-type': 'application/json' }
const ADA = { method: 'POST', headers: HEADERS, body: '{"name":"Ada","categoryId":1}' }

/** Retries a create until it succeeds, whatever was lost. */
const impatient: Work = async ({ fetch, sleep }) => {
  for (;;) {
    const response = await fetch('pets', ADA).catch(() => undefined)
    if (response?.status === 201) return
    await sleep(1_000)
  }
}

const oneAnimal = async ({ pets }: { pets(): Promise<readonly unknown[]> }) =>
  assert.equal((await pets()).length, 1)

test('explore - a rejection that nobody handles does not end the process, and a call that hangs does not keep it alive', async () => {
  const double = new URL('../../../adapters/test-double/index.js', import.meta.url)
  const program = `
    const { explore } = await import(${JSON.stringify(double.href)})
    const headers = { authorization: 'Bearer demo-pro' }
    const { failures } = await explore(async ({ fetch, sleep }) => {
      fetch('pets', { headers })
      await sleep(1_000)
    }, { faults: ['reset'], invariant: () => true })
    for (const { schedule, reason } of failures) console.log(schedule + ': ' + reason)
    const { runs } = await explore(({ fetch }) => fetch('pets', { headers }), { faults: ['hang'] })
    console.log(runs)`
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', program],
    { encoding: 'utf8', timeout: 60_000 },
  )
  assert.deepEqual([status, stderr], [0, ''])
  assert.equal(
    stdout,
    'listPets#1=reset: the work leaves a rejection unhandled, which ends a process: TypeError: fetch failed (read ECONNRESET)\n2\n',
  )
})

test('explore - without an invariant, the work has to resolve and the report to be ok', async () => {
  const retryAfter = (pause: number): Work => {
    return async ({ fetch, sleep }) => {
      for (let attempt = 0; attempt < 2; attempt++) {
        const response = await fetch('pets', { headers: HEADERS })
        if (response.ok) return
        await sleep(pause)
      }
    }
  }
  const faults = ['status:429', 'status:503', 'reset']
  for (const [pause, early] of [
    [0, ['429', '503']],
    // Retry-After cannot ask for less than a second, so this is only a note, but after a 429.
    [300, ['429']],
    [1_000, []],
  ] as const) {
    const { failures } = await explore(retryAfter(pause), { faults })
    assert.deepEqual(
      failures.map(({ schedule, reason }) => `${schedule}: ${reason.slice(0, 30)}`),
      [
        ...early.map(status => `listPets#1=status:${status}: the verdict: retry-after.early`),
        'listPets#1=reset: the work failed: TypeError: fe',
      ],
    )
  }
  const broken = await explore(() => Promise.reject(new Error('no')))
  assert.deepEqual([broken.runs, broken.failures[0]?.schedule], [1, ''])
  assert.equal(broken.failures[0]?.reason, 'the work failed: Error: no')
})

test('explore - an invariant sends without faults, and a limit of runs is noticed where it leaves something out', async () => {
  const work: Work = ({ fetch }) => fetch('pets', { headers: HEADERS }).catch(() => {})
  for (const [schedules, exhausted] of [
    [2, false],
    [3, true],
  ] as const) {
    const result = await explore(work, {
      faults: ['reset', 'status:500'],
      schedules,
      invariant: async ({ double }) =>
        assert.ok((await double.fetch('pets', { headers: HEADERS })).ok),
    })
    assert.deepEqual([result.runs, result.exhausted, result.ok], [schedules, exhausted, true])
  }
})

test('explore - an invariant decides alone, and may also return false', async () => {
  const fails: Work = async ({ fetch }) => {
    await fetch('pets/1', { headers: HEADERS })
    throw new Error('no animal')
  }
  const errors: unknown[] = []
  const { ok } = await explore(fails, {
    faults: ['reset'],
    invariant: ({ error }) => errors.push(error),
  })
  assert.equal(ok, true)
  assert.deepEqual(errors.map(String), ['Error: no animal', 'TypeError: fetch failed'])
  const { failures } = await explore(fails, { invariant: ({ report }) => report.ok })
  const reasons = failures.map(({ reason }) => reason)
  assert.deepEqual(reasons, ['the invariant is false'])
})

test('explore - says where work waits that never ends', async () => {
  const list = { headers: HEADERS }
  const endless: Record<string, Work> = {
    'the work waits for ever, as listPets#1 hangs and the call has no signal to end it; waiting: fetch at':
      ({ fetch }) => fetch('pets', list),
    'the work goes on sending requests, after listPets#20 (200); waiting: fetch at': async ({
      fetch,
    }) => {
      while (!(await fetch('pets', list)).redirected);
    },
    'the work waits longer than 3600 s of virtual time, after listPets#1 (200); waiting: sleep at':
      async ({ fetch, sleep }) => {
        await fetch('pets', list)
        for (;;) await sleep(60_000)
      },
    'the work waits for ever, after createPet#1 (201)': async ({ fetch }) => {
      await fetch('pets', ADA)
      await new Promise(() => {})
    },
    'the work waits for ever, before its first request': () => new Promise(() => {}),
  }
  for (const [reason, work] of Object.entries(endless)) {
    const { failures } = await explore(work, { faults: ['hang'], maxTime: '1h', maxRequests: 20 })
    assert.equal(failures.length, 1, reason)
    assert.equal(failures[0]?.reason.slice(0, reason.length), reason)
    if (reason.endsWith(' at'))
      assert.match(failures[0]?.reason ?? '', / at explore\.test\.[jt]s:\d+$/)
  }
})

test('explore - as many requests and as much time as the bounds allow are fine', async () => {
  const bounds = { faults: ['reset'], maxTime: '1h', maxRequests: 3, invariant: () => {} }
  const work =
    (requests: number, seconds: number): Work =>
    async ({ fetch, sleep }) => {
      for (let sent = 0; sent < requests; sent++) await fetch('pets').catch(() => {})
      await sleep(seconds * 1_000)
    }
  assert.equal((await explore(work(3, 3_600), bounds)).ok, true)
  assert.equal((await explore(work(4, 3_600), bounds)).ok, false)
  assert.equal((await explore(work(3, 3_600.001), bounds)).ok, false)
})

test('explore - every run begins in the same state', async () => {
  const double = (await import('../../../adapters/test-double/index.js')).createTestDouble()
  await double.seed([{ name: 'Rex', categoryId: 1 }])
  for (let count = 0; count < 59; count++)
    await double.fetch('pets', { headers: { authorization: 'Bearer demo-free' } })
  const snapshot = await double.snapshot()
  const remaining: unknown[] = []
  const work: Work = async ({ fetch, sleep, clock }) => {
    const response = await fetch('pets', { headers: { authorization: 'Bearer demo-free' } }).catch(
      () => undefined,
    )
    remaining.push([response?.headers.get('x-ratelimit-remaining'), clock()])
    await sleep(1_000)
  }
  const invariant = async ({ pets }: { pets(): Promise<readonly { name: string }[]> }) =>
    assert.deepEqual(
      (await pets()).map(({ name }) => name),
      ['Rex'],
    )
  assert.equal((await explore(work, { faults: ['status:500'], snapshot, invariant })).ok, true)
  assert.deepEqual(remaining, [
    ['0', double.clock()],
    ['0', double.clock()],
  ])
})

test('explore - faults apply to the operation and the key they name, and other paths have a name', async () => {
  const work: Work = async ({ fetch }) => {
    for (const path of ['pets', 'elsewhere', 'pets/1']) {
      for (const key of ['demo-pro', 'demo-free']) {
        await fetch(path, { headers: { authorization: `Bearer ${key}` } }).catch(() => {})
      }
    }
  }
  const schedules: string[] = []
  await explore(work, {
    faults: [
      { kind: 'reset', operation: 'getPet' },
      { kind: 'hang', keyId: 'demo-free', operation: 'listPets' },
      { kind: 'status', status: 500, body: '<h1>a = b, {c}</h1>' },
    ],
    invariant: ({ schedule }) => schedules.push(schedule),
  })
  const html = 'status:500{"body":"<h1>a = b, {c}</h1>"}'
  assert.deepEqual(schedules, [
    '',
    `listPets#1=${html}`,
    `listPets#2=${html}`,
    `other#1=${html}`,
    `other#2=${html}`,
    'getPet#1=reset',
    `getPet#1=${html}`,
    'getPet#2=reset',
    `getPet#2=${html}`,
  ])
})

test('explore - faults that have the same effect share one run', async () => {
  const work: Work = async ({ fetch }) => {
    await fetch('pets', { method: 'HEAD', headers: HEADERS }).catch(() => {})
    await fetch('pets', { headers: HEADERS }).catch(() => {})
    await fetch('pets', ADA).catch(() => {})
    await fetch('pets', { ...ADA, body: '{}' }).catch(() => {})
    await fetch('pets').catch(() => {})
  }
  const schedules: string[] = []
  const { pruned } = await explore(work, {
    faults: ['truncate', 'malformed', 'status:503-after', 'status:503'],
    invariant: ({ schedule }) => schedules.push(schedule),
  })
  assert.deepEqual(schedules, [
    '',
    'listPets#1=status:503',
    'listPets#2=truncate',
    'listPets#2=malformed',
    'listPets#2=status:503',
    'createPet#1=truncate',
    'createPet#1=malformed',
    'createPet#1=status:503-after',
    'createPet#1=status:503',
    'createPet#2=truncate',
    'createPet#2=malformed',
    'createPet#2=status:503',
    'listPets#3=truncate',
    'listPets#3=malformed',
  ])
  assert.equal(pruned, 3 + 1 + 0 + 1 + 2)
})

test('runSchedule - runs one schedule again', async () => {
  const { failures } = await explore(impatient, { faults: ['reset'], invariant: oneAnimal })
  const [failure, ...others] = failures
  assert.deepEqual([failure?.schedule, others], ['createPet#1=reset', []])
  assert.match(failure?.reason ?? '', /^the invariant failed: AssertionError: .* 2 !== 1$/)
  const options = { faults: ['reset'], depth: 2, invariant: oneAnimal }
  const again = await runSchedule(failure?.schedule ?? '', impatient, options)
  assert.deepEqual(
    { ok: again.ok, reason: again.reason, requests: again.requests },
    { ok: false, reason: failure?.reason, requests: failure?.requests },
  )
  const fine = await runSchedule('', impatient)
  assert.deepEqual([fine.ok, fine.reason, fine.requests.length], [true, undefined, 1])
  await assert.rejects(runSchedule('createPet#3=reset', impatient), {
    message:
      'Expected `schedule` to be of requests that the work sends: createPet#1, got createPet#3',
  })
})
