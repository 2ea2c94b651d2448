import { listen } from '../../../dist/adapters/http/index.js'
import { withConsole } from '../../../dist/adapters/pages/console/index.js'
import { createOurs } from './ours.mjs'

/** `ours` as `serve` runs it: with CORS and a console that nobody watches. */
export async function serve() {
  const { port } = await listen(withConsole(await createOurs({ cors: true })), { port: 0 })
  return port
}
