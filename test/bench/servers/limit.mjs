import { createServer } from 'node:http'
import { listening } from './listening.mjs'

/**
 * The limit of this runtime: node:http answering bytes that never change, with the headers that our
 * own server sent to the same request.
 *
 * @param answers JSON of `{ list, get, create }`, each `{ status, headers, body }`
 */
export function serve(answers) {
  const { list, get, create } = JSON.parse(answers)
  return listening(
    createServer((request, response) => {
      const { method, url } = request
      const { status, headers, body } =
        method === 'POST' ? create : url.startsWith('/v1/pets/') ? get : list
      response.sendDate = false
      response.writeHead(status, headers)
      response.end(body)
    }),
  )
}
