import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStops } from '../../../adapters/cli/shutdown.js'

test('stops - everything is stopped, the last first, also where one cannot be', async () => {
  const stopped: string[] = []
  const run = withStops(async stops => {
    for (const name of ['source', 'target', 'limits']) {
      stops.push(async () => {
        stopped.push(name)
        if (name !== 'limits') throw new Error(`${name} cannot be closed`)
      })
    }
  })
  await assert.rejects(run, { message: 'target cannot be closed' })
  assert.deepEqual(stopped, ['limits', 'target', 'source'])
})

test('stops - what failed first is thrown, not what fails on the way out', async () => {
  const stopped: string[] = []
  const run = withStops(async stops => {
    stops.push(async () => {
      stopped.push('source')
      throw new Error('source cannot be closed')
    })
    throw new Error('target already has animals')
  })
  await assert.rejects(run, { message: 'target already has animals' })
  assert.deepEqual(stopped, ['source'])
})

test('stops - everything is stopped after the run, whose result is returned', async () => {
  const stopped: string[] = []
  const result = await withStops(async stops => {
    stops.push(async () => void stopped.push('source'))
    return stopped.length
  })
  assert.equal(result, 0)
  assert.deepEqual(stopped, ['source'])
})
