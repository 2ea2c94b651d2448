// The actions of users of the package, for any environment: no test framework, nothing of Node.
const REX = { name: 'Rex', categoryId: 9223372036854775807n }
const BODY = '{"name":"Rex","categoryId":9223372036854775807}'
const HEADERS = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }
const { setTimeout } = globalThis
const FAKED = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval']

/** Timers that never fire, until the result is called. */
function fakeTimers() {
  const own = FAKED.filter(name => name in globalThis).map(name => [name, globalThis[name]])
  for (const [name] of own) globalThis[name] = () => 0
  return () => Object.assign(globalThis, Object.fromEntries(own))
}

/**
 * @param entry the exports of the package's entry points
 * @param around `fetch` and `address`: a function, and a base URL that it reaches; `fake`: installs
 *   fake timers, and returns what removes them; `send`: a `fetch` that reaches `listen`
 */
function casesOf(entry, { fetch, address, fake = fakeTimers, send = globalThis.fetch }) {
  const { createTestDouble, createClient, createStore, memoryStorage, toFetchHandler } = entry
  const { judge, withConsole, listen, jsonFileStorage, temporaryFile } = entry
  const apiKeys = { 'demo-free': { id: 'demo-free', plan: 'free' } }
  const open = () => createStore({ storage: memoryStorage(), apiKeys })
  const ask = async (init, input = 'pets') => {
    const double = createTestDouble()
    const response = await double.fetch(typeof input === 'function' ? input(double) : input, init)
    equal(double.report().findings, [])
    return response
  }
  const request = (double, init) => new Request(`${double.baseUrl}/pets`, init)
  const create = init => ask({ method: 'POST', headers: HEADERS, ...init })
  const isCreated = async response => {
    equal(await response.text(), `{"id":1,${BODY.slice(1, -1)},"status":"available"}`)
    const { pathname } = new URL(response.headers.get('location'), 'http://pets.test/v1/pets')
    equal([response.status, pathname], [201, '/v1/pets/1'])
  }
  const clientOf = (double, more) =>
    createClient({ baseUrl: double.baseUrl, fetch: double.fetch, apiKey: 'demo-free', ...more })
  const withServer = async use => {
    const server = await createTestDouble().listen()
    await use(server.url).finally(() => server.close())
  }
  const isServed = async url => {
    const body = { method: 'POST', headers: HEADERS, body: BODY }
    await isCreated(await send(`${url}/pets`, body))
    equal((await send(`${url}/pets`, { headers: HEADERS })).status, 200)
  }
  const remote = () => createClient({ baseUrl: address, fetch, apiKey: 'demo-free' })
  const watched = () => judge({ baseUrl: address, ...(fetch && { fetch }) })

  return {
    double: {
      'plain headers': async () => equal((await ask({ headers: HEADERS })).status, 200),
      'a Headers': async () => equal((await ask({ headers: new Headers(HEADERS) })).status, 200),
      'a Request': async () =>
        equal((await ask(undefined, double => request(double, { headers: HEADERS }))).status, 200),
      'more options': async () =>
        equal(
          (await ask({ headers: HEADERS, credentials: 'omit', cache: 'no-store' })).status,
          200,
        ),
      'a body of text': async () => isCreated(await create({ body: BODY })),
      'a body of bytes': async () => isCreated(await create({ body: bytesOf(BODY) })),
      'a Request with a body': async () => {
        const init = { method: 'POST', headers: HEADERS, body: BODY }
        await isCreated(await ask(undefined, double => request(double, init)))
      },
      'a response read as a stream': async () => {
        const { body } = await create({ body: BODY })
        equal((await body.getReader().read()).value.length, 75)
      },
      'an aborted call': async () => {
        const double = createTestDouble()
        double.faults.arm({ kind: 'hang' })
        const { signal, abort } = cancellation()
        const call = double.fetch('pets', { headers: HEADERS, signal })
        abort()
        await rejects(call, 'AbortError')
      },
      'fake timers': async () => {
        const end = fake()
        await ask({ headers: HEADERS }).finally(end)
      },
      'time that passes by itself': async () => {
        const double = createTestDouble()
        await double.run(async () => {
          for (let n = 0; n < 60; n++) await double.fetch('pets', { headers: HEADERS })
          const refused = await double.fetch('pets', { headers: HEADERS })
          await double.clock.sleep(Number(refused.headers.get('retry-after')) * 1_000)
          equal((await double.fetch('pets', { headers: HEADERS })).status, 200)
        })
        equal(double.report().findings, [])
      },
      'a digest': async () => equal((await createTestDouble().digest()).length, 64),
      'a finding': async () => {
        const double = createTestDouble()
        for (let n = 0; n < 2; n++) await double.fetch('pets')
        equal(
          double.report().findings.map(({ rule }) => rule),
          ['key.refused'],
        )
      },
    },
    listen: {
      'over a socket': () => withServer(isServed),
      'under fake timers': () =>
        withServer(async url => {
          const end = fake()
          await isServed(url).finally(end)
        }),
      'after fake timers': () =>
        withServer(async url => {
          const end = fake()
          const call = send(`${url}/pets`, { headers: HEADERS })
          end()
          await call
          await isServed(url)
        }),
      'an unknown path': () =>
        withServer(async url => equal((await send(`${url}/x`, { headers: HEADERS })).status, 404)),
    },
    client: {
      'creates and lists': async () => {
        const client = clientOf(createTestDouble())
        equal(await client.createPet(REX), { id: 1, ...REX, status: 'available' })
        equal(await client.listPets(), [{ id: 1, ...REX, status: 'available' }])
      },
      retries: async () => {
        const double = createTestDouble()
        double.faults.arm({ kind: 'status', status: 503, times: 2 })
        const { clock } = double
        await double.run(() => clientOf(double, { clock, sleep: clock.sleep }).listPets())
        equal(
          double.requests().map(({ status }) => status),
          [503, 503, 200],
        )
      },
      'names an error': () => rejects(clientOf(createTestDouble()).getPet(1), 'ApiError'),
      'ends with its signal': async () => {
        const double = createTestDouble()
        double.faults.arm({ kind: 'hang' })
        const { signal, abort } = cancellation()
        const call = clientOf(double).listPets({}, { signal })
        abort()
        await rejects(call, 'AbortError')
      },
    },
    handler: {
      lists: async () => {
        const handler = toFetchHandler(open())
        equal(await (await handler(request(handled, { headers: HEADERS }))).text(), '[]')
      },
      creates: async () => {
        const sent = request(handled, { method: 'POST', headers: HEADERS, body: BODY })
        await isCreated(await toFetchHandler(open())(sent))
      },
      'bounds a body': async () => {
        const body = `{"name":"${'x'.repeat(2_000_000)}","categoryId":1}`
        const sent = request(handled, { method: 'POST', headers: HEADERS, body })
        equal((await toFetchHandler(open())(sent)).status, 413)
      },
    },
    'client over fetch': {
      'creates and lists over the network': async () => {
        const { id } = await remote().createPet(REX)
        equal(await remote().getPet(id), { id, ...REX, status: 'available' })
        equal((await remote().listPets({ limit: 1 })).length, 1)
      },
      'names an error over the network': () =>
        rejects(remote().createPet({ name: 'Rex', categoryId: '1' }), 'ApiError'),
    },
    judge: {
      'passes on': async () => {
        const judged = watched()
        const sent = { method: 'POST', headers: HEADERS, body: BODY }
        const created = await judged.fetch(`${address}/pets`, sent)
        equal([created.status, (await created.json()).name], [201, 'Rex'])
        judged.assertPolite()
      },
      finds: async () => {
        const judged = watched()
        for (let n = 0; n < 2; n++) await (await judged.fetch(`${address}/pets`)).text()
        const { findings, decided } = judged.report()
        equal([findings.map(({ rule }) => rule), decided], [['key.refused'], 2])
      },
    },
    server: {
      'a console': async () => {
        const server = await listen(withConsole(open()), { port: 0 })
        const page = await send(server.origin, { headers: { accept: 'text/html' } })
        equal(/_console\/page\.js/.test(await page.text()), true)
        await server.close()
      },
      'a JSON file, opened twice': async () => {
        const [one, two] = [jsonFileStorage(temporaryFile()), jsonFileStorage(temporaryFile())]
        await createStore({ storage: one, apiKeys }).createPet(REX)
        equal((await createStore({ storage: two, apiKeys }).listPets()).length, 1)
        await one.close()
        await createStore({ storage: two, apiKeys }).createPet(REX)
        await two.close()
      },
    },
  }
}

export const GROUPS = Object.keys(casesOf({}, {}))

/** Where the handler is asked. */
const handled = { baseUrl: 'http://pets.test/v1' }

/** @returns by group, the names of the cases that passed; what failed; the groups left out */
export async function runCases(entry, around = {}) {
  const passed = {}
  const failed = []
  const cases = Object.entries(casesOf(entry, around))
  const without = around.without ?? []
  for (const [group, tasks] of cases) {
    if (without.includes(group)) continue
    passed[group] = 0
    for (const [name, run] of Object.entries(tasks)) {
      try {
        await inTime(run())
        passed[group]++
      } catch (error) {
        failed.push(`${group}, ${name}: ${error?.message ?? error} ${error?.stack ?? ''}`)
      }
    }
  }
  return { passed, failed }
}

function inTime(promise) {
  const late = new Promise((_, reject) => {
    setTimeout(() => reject(new Error('hangs')), 20_000)?.unref?.()
  })
  return Promise.race([promise, late])
}

function cancellation() {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

async function rejects(promise, name) {
  const error = await promise.then(
    () => new Error('nothing was rejected'),
    error => error,
  )
  if (error.name !== name) throw error
}

function equal(actual, expected) {
  const [one, other] = [actual, expected].map(shown)
  if (one !== other) throw new Error(`${one} is not ${other}`)
}

function shown(value) {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))
}

function bytesOf(text) {
  return Uint8Array.from(text, character => character.charCodeAt(0))
}
