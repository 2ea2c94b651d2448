/** `node servers/call.mjs NAME`: prints what a request takes in µs, of each workload. */
import { WORKLOADS } from '../harness/workload.mjs'

/** How each is asked: what is made ready before the clock runs, and the call itself. */
const APPLICATIONS = {
  async ours() {
    const { createOurs } = await import('./ours.mjs')
    return throughHandle(await createOurs())
  },
  async 'ours-console'() {
    const { createOurs } = await import('./ours.mjs')
    const { withConsole } = await import('../../../dist/adapters/console/index.js')
    return throughHandle(withConsole(await createOurs()))
  },
  async fastify() {
    const { createApp } = await import('./fastify.mjs')
    const app = await createApp()
    return {
      prepare: ({ method, path, headers, body }) =>
        body ? { method, url: path, headers, payload: body } : { method, url: path, headers },
      call: request => app.inject(request),
    }
  },
  async hono() {
    const { createApp } = await import('./hono.mjs')
    const app = createApp()
    return {
      prepare: ({ method, path, headers, body }) =>
        body ? [path, { method, headers, body }] : [path, { method, headers }],
      async call([path, init]) {
        const response = await app.request(path, init)
        return { status: response.status, body: await response.text() }
      },
    }
  },
}

const { prepare, call } = await APPLICATIONS[process.argv[2]]()
const figures = {}
for (const [operation, { requests, status }] of Object.entries(WORKLOADS)) {
  const prepared = requests.map(prepare)
  await run(prepared, status, 300)
  figures[operation] = await run(prepared, status, 700)
}
console.log(JSON.stringify(figures))
process.exit()

async function run(requests, status, milliseconds) {
  const start = performance.now()
  let taken = 0
  let done = 0
  while (taken < milliseconds) {
    for (const end = done + 100; done < end; done++) {
      const answer = await call(requests[done % requests.length])
      if ((answer.status ?? answer.statusCode) !== status || answer.body === '') throw answer
    }
    taken = performance.now() - start
  }
  return (taken / done) * 1000
}

function throughHandle(handler) {
  return {
    prepare({ method, path, headers, body }) {
      const [pathname, query = ''] = path.split('?')
      return { method, path: pathname, query, headers: lowerCase(headers), body }
    },
    call: request => handler.handle(request),
  }
}

function lowerCase(headers) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
}
