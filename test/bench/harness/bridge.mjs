import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * A server on a real socket whose requests continue on a virtual clock, for clients that accept no
 * `fetch`. While bytes are on the socket, no virtual time passes.
 */
export async function createBridge() {
  const calls = new Map()
  let count = 0
  const server = createServer(async (request, response) => {
    const call = calls.get(request.headers['x-call'])
    call.release()
    const answer = await call.fetch(call.url, { headers: { authorization: call.authorization } })
    const body = await answer.text()
    call.hold()
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(body)
  })
  server.listen(0, '127.0.0.1').unref()
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/v1/pets`

  return { url, to }

  /** Options for got. */
  function to(fetch, time) {
    return {
      hooks: {
        beforeRequest: [
          options => {
            const id = `${count++}`
            const { authorization } = options.headers
            const call = {
              fetch,
              authorization,
              url: 'http://store.test/v1/pets',
              hold,
              release() {},
            }
            options.headers['x-call'] = id
            calls.set(id, call)
            hold()

            function hold() {
              time.hold(() => new Promise(resolve => Object.assign(call, { release: resolve })))
            }
          },
        ],
        afterResponse: [
          response => {
            const id = response.request.options.headers['x-call']
            calls.get(id).release()
            calls.delete(id)
            return response
          },
        ],
      },
    }
  }
}
