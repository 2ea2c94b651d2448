import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * The limit of this runtime: node:http with bytes that never change, and the headers that our own
 * server sent to the same request. It reads a body to its end, as every server must.
 *
 * @param answers JSON of `{ list, get, create }`, each `{ status, headers, body }`
 */
export async function serve(answers) {
  const { list, get, create } = JSON.parse(answers)
  const server = createServer((request, response) => {
    const { method, url } = request
    if (method !== 'POST') return send(url.startsWith('/v1/pets/') ? get : list)
    const chunks = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => send(create))

    function send({ status, headers, body }) {
      response.sendDate = false
      response.writeHead(status, headers)
      response.end(body)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}
