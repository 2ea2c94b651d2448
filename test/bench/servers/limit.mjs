import { createServer } from 'node:http'
import { listening } from './listening.mjs'

/**
 * The limit of this runtime: node:http with bytes that never change, and the headers that our own
 * server sent to the same request. It reads a body to its end, as every server must.
 *
 * @param answers JSON of `{ list, get, create }`, each `{ status, headers, body }`
 */
export function serve(answers) {
  const { list, get, create } = JSON.parse(answers)
  return listening(
    createServer((request, response) => {
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
    }),
  )
}
