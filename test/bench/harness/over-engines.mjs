import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres, startRedis } from '../../../dist/test/engines/engines.js'
import { cpuSeconds, startServer, stop } from './children.mjs'

/** Some processes of a server, over fresh engines of these names; the rest is in their memory. */
export async function startOverEngines(server, engines, processes) {
  const postgres = engines.includes('postgres') ? await startPostgres() : undefined
  const redis = engines.includes('redis') ? await startRedis() : undefined
  const folder = mkdtempSync(join(tmpdir(), 'bench-engines-'))
  const file = engines.includes('sqlite') ? join(folder, 'animals.sqlite') : ''
  const words = ['servers/start.mjs', server, postgres?.url ?? '', redis?.url ?? '', file]
  const servers = []
  for (let n = 0; n < processes; n++) servers.push(await startServer(words))
  return {
    servers,
    /** CPU time since the start, in µs. */
    cpu: () => ({
      server: servers.reduce((sum, { child }) => sum + cpuSeconds(child) * 1e6, 0),
      postgres: (postgres?.cpu() ?? 0) * 1e3,
      redis: (redis?.cpu() ?? 0) * 1e3,
    }),
    async stop() {
      for (const { child } of servers) await stop(child)
      await postgres?.stop()
      await redis?.stop()
      rmSync(folder, { recursive: true })
    },
  }
}
