// For Jest and vitest.
import { writeFileSync } from 'node:fs'
import { runCases } from './cases.mjs'
import * as entry from './node.mjs'

const { NAME = process.env.NAME, ADDRESS: address } = { ...globalThis, ...process.env }
const isJest = typeof jest !== 'undefined'

test('the cases', async () => {
  const timers = isJest ? jest : vi
  const fake = () => {
    timers.useFakeTimers()
    return () => timers.useRealTimers()
  }
  const without = NAME === 'Jest with jsdom' ? WITHOUT_FETCH : []
  const outcome = await runCases(entry, { address, fake, send: entry.send, without })
  writeFileSync(`${NAME}.json`, JSON.stringify(outcome))
}, 120_000)

/** This DOM has none of the classes of fetch. */
const WITHOUT_FETCH = ['double', 'client', 'handler', 'client over fetch', 'judge']
