import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import jsonServer from 'json-server'
import { animals } from '../harness/workload.mjs'
import { listening } from './listening.mjs'

/** json-server 0.17 over a file, as its README builds it; it knows no key, no limit, no schema. */
export function serve() {
  const file = join(mkdtempSync(join(tmpdir(), 'bench-')), 'db.json')
  writeFileSync(file, JSON.stringify({ pets: animals(1_000) }))
  const app = jsonServer.create()
  app.use(jsonServer.defaults({ logger: false }))
  app.use(jsonServer.router(file))
  return listening(
    createServer((request, response) => {
      // It has no base path, and another name for the page size.
      request.url = request.url.replace('/v1', '').replace('limit=', '_limit=')
      app(request, response)
    }),
  )
}
