import { createServer } from 'node:http'
import jsonServer from 'json-server'
import { toJsonServerPath, writeAnimalsFile } from './animals-file.mjs'
import { listening } from './listening.mjs'

/** json-server 0.17 over a file, as its README builds it; it knows no key, no limit, no schema. */
export function serve() {
  const app = jsonServer.create()
  app.use(jsonServer.defaults({ logger: false }))
  app.use(jsonServer.router(writeAnimalsFile()))
  return listening(
    createServer((request, response) => {
      request.url = toJsonServerPath(request.url)
      app(request, response)
    }),
  )
}
