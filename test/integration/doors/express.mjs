import assert from 'node:assert/strict'
import { once } from 'node:events'
import { toNodeHandler } from 'animal-adoption-store/http'
import express from 'express'
import { exercise, openStore } from './support.mjs'

const app = express()
app.use('/store', toNodeHandler(openStore()))
app.use((_request, response) => response.status(418).end())

const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const origin = `http://127.0.0.1:${server.address().port}`
await exercise(origin, '/store')
assert.equal((await fetch(`${origin}/store/other`)).status, 418)
server.closeAllConnections()
server.close()
