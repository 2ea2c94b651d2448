import { once } from 'node:events'
import { createServer } from 'node:http'
import { toNodeHandler } from 'animal-adoption-store/http'
import { exercise, openStore } from './support.mjs'

// `export default handler` and `config = { api: { bodyParser: false } }` in pages/api/v1/[...path].js.
const handler = toNodeHandler(openStore({ basePath: '/api/v1' }))

const server = createServer((request, response) => handler(request, response)).listen(
  0,
  '127.0.0.1',
)
await once(server, 'listening')
await exercise(`http://127.0.0.1:${server.address().port}`, '', '/api/v1')
server.closeAllConnections()
server.close()
