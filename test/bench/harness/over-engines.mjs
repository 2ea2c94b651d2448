import { startPostgres, startRedis } from '../../../dist/test/engines/engines.js'
import { cpuSeconds, startServer, stop } from './children.mjs'

/** Some processes of a server, over a PostgreSQL and a Redis of their own. */
export async function startOverEngines(server, processes) {
  const postgres = await startPostgres()
  const redis = await startRedis()
  const words = ['servers/start.mjs', server, postgres.url, redis.url]
  const servers = []
  for (let n = 0; n < processes; n++) servers.push(await startServer(words))
  return {
    servers,
    /** CPU time of the servers since their start, in µs. */
    cpu: () => servers.reduce((sum, { child }) => sum + cpuSeconds(child) * 1e6, 0),
    async stop() {
      for (const { child } of servers) await stop(child)
      await postgres.stop()
      await redis.stop()
    },
  }
}
