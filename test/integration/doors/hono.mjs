import { once } from 'node:events'
import { serve } from '@hono/node-server'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { Hono } from 'hono'
import { exercise, openStore } from './support.mjs'

const handler = toFetchHandler(openStore())
const app = new Hono()
app.all('/v1/*', context => handler(context.req.raw))

const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
await once(server, 'listening')
await exercise(`http://127.0.0.1:${server.address().port}`)
server.closeAllConnections()
server.close()
