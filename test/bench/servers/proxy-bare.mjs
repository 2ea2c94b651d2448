import { Agent, createServer, request } from 'node:http'
import { listening } from './listening.mjs'

/** The least that a proxy of node:http does: no time limits, no errors, no connection of its own. */
export function serve(origin) {
  const { hostname, port } = new URL(origin)
  const agent = new Agent({ keepAlive: true })
  return listening(
    createServer((incoming, response) => {
      const { method, url: path, headers } = incoming
      const outgoing = request({ hostname, port, method, path, headers, agent }, answer => {
        response.writeHead(answer.statusCode, answer.headers)
        answer.pipe(response)
      })
      incoming.pipe(outgoing)
    }),
  )
}
