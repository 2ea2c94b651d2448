/** One process of `processes.mjs`: waits for its task, and reports when its jobs are done. */
import { setTimeout } from 'node:timers/promises'
import { createClient } from '../../../dist/adapters/client/index.js'

process.once('message', async ({ url, shared, jobs, startAt }) => {
  const client = createClient({ baseUrl: url, apiKey: 'key', shared })
  await setTimeout(startAt - Date.now())
  let last = startAt
  const calls = Array.from({ length: jobs }, async () => {
    await client.listPets()
    last = Date.now()
  })
  const results = await Promise.allSettled(calls)
  await client.close()
  const done = results.filter(({ status }) => status === 'fulfilled').length
  process.send({ done, last }, () => process.exit())
})
process.once('disconnect', () => process.exit())
process.send('ready')
