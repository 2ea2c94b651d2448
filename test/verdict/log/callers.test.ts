import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCallers, createConnections } from '../../../adapters/verdict/log/callers.js'

test('callers - connections are numbered in order of first use', () => {
  const callers = createCallers()
  const connect = createConnections()
  const [one, other] = [connect(), connect()]
  const numberOf = (connection: typeof one | undefined) => {
    const { connection: number } = callers.arrive('a', connection)
    callers.leave('a', connection)
    return number
  }
  assert.deepEqual([other, one, other, undefined].map(numberOf), [1, 2, 1, null])
  assert.equal(callers.connections(), 2)
  assert.equal(createCallers(7).connections(), 7)
  assert.equal(createCallers(7).arrive('a', one).connection, 8)
})

test('callers - a request is sequential if all earlier ones were answered', () => {
  const callers = createCallers()
  const connection = createConnections()()
  const arrive = (caller = 'a') => callers.arrive(caller, connection).sequential
  const leave = (caller = 'a') => callers.leave(caller, connection)
  assert.equal(arrive(), true)
  assert.equal(arrive(), false, 'the first is not answered yet')
  leave()
  assert.equal(arrive(), false, 'the second is not answered yet')
  assert.equal(arrive('b'), true, 'another caller')
  leave()
  leave()
  assert.equal(arrive(), true)
  leave('unknown')
})

test('callers - a request on a new connection is sequential only if the previous connection had ended', () => {
  const connect = createConnections()
  const isSequential = (prepare: (last: ReturnType<typeof connect>) => typeof last) => {
    const callers = createCallers()
    const last = connect()
    callers.arrive('a', last)
    callers.leave('a', last)
    return callers.arrive('a', prepare(last)).sequential
  }
  const ended = (last: ReturnType<typeof connect>) => {
    last.end()
    return connect()
  }
  const overlapping = (last: ReturnType<typeof connect>) => {
    const next = connect()
    last.end()
    return next
  }
  assert.equal(
    isSequential(last => last),
    true,
  )
  assert.equal(isSequential(ended), true)
  assert.equal(isSequential(overlapping), false)
  assert.equal(isSequential(connect), false)
  const callers = createCallers()
  const last = connect()
  last.end()
  last.end()
  callers.arrive('a', undefined)
  callers.leave('a', undefined)
  assert.equal(callers.arrive('a', last).sequential, true, 'the door tells no connections')
})

test('callers - after a restore, a caller is unknown until its first response', () => {
  const connection = createConnections()()
  const callers = createCallers(0)
  assert.equal(callers.arrive('a', connection).sequential, false)
  callers.leave('a', connection)
  assert.equal(callers.arrive('a', connection).sequential, true)
})

test('callers - the thousand most recent callers are remembered', () => {
  const connection = createConnections()()
  const filled = (count: number) => {
    const callers = createCallers()
    for (let n = 0; n < count; n++) {
      callers.arrive(`caller ${n}`, connection)
      callers.leave(`caller ${n}`, connection)
      // Never the least recent one.
      callers.arrive('busy', connection)
      callers.leave('busy', connection)
    }
    return (caller: string) => callers.arrive(caller, connection).sequential
  }
  const all = filled(998)
  assert.deepEqual([all('caller 0'), all('new')], [true, true])
  const some = filled(1_000)
  assert.deepEqual([some('caller 0'), some('new')], [false, false])
  const others = filled(1_000)
  assert.deepEqual([others('caller 1'), others('busy')], [true, true])
})
