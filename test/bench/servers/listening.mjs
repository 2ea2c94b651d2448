import { once } from 'node:events'

/** The port a server of node:http was given. */
export async function listening(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server.address().port
}
