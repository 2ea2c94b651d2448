import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readFaults } from '../../../adapters/test-double/explore/explore-options.js'
import { parseSchedule, scheduleText } from '../../../adapters/test-double/explore/schedule.js'
import { faultText, parseFault } from '../../../adapters/test-double/faults/text.js'
import { explore, FAULTS, type Fault } from '../../../adapters/test-double/index.js'
import { anyCodePoint } from '../../support/any-text.js'

test('fault text - says what a fault does', () => {
  const forms: Record<string, Fault> = {
    reset: { kind: 'reset' },
    truncate: { kind: 'truncate' },
    malformed: { kind: 'malformed' },
    hang: { kind: 'hang' },
    'trickle:16b/1s': { kind: 'trickle', bytes: 16, interval: 1_000 },
    'delay:31s': { kind: 'delay', duration: 31_000 },
    'delay:250ms': { kind: 'delay', duration: 250 },
    'delay:2m': { kind: 'delay', duration: 120_000 },
    'status:503': { kind: 'status', status: 503, retryAfter: 1 },
    'status:503-after': { kind: 'status', status: 503, when: 'after', retryAfter: 1 },
    'status:429': { kind: 'status', status: 429, retryAfter: 1 },
    'status:429{"retryAfter":null}': { kind: 'status', status: 429, retryAfter: null },
    'status:503-after{"retryAfter":{"date":-5},"body":"a {b} \\"c\\", d"}': {
      kind: 'status',
      status: 503,
      when: 'after',
      retryAfter: { date: -5 },
      body: 'a {b} "c", d',
    },
  }
  for (const [text, fault] of Object.entries(forms)) {
    assert.deepEqual(parseFault('fault', text), fault)
    assert.equal(faultText(fault), text)
  }
  assert.equal(faultText({ kind: 'status', status: 429 }), 'status:429{"retryAfter":null}')
  assert.equal(
    faultText({ kind: 'delay', duration: 60_000, operation: 'getPet', nth: 2 }),
    'delay:1m',
  )
})

test('fault text - whatever it says is read back', () => {
  const fault = fc.oneof(
    fc.record({ kind: fc.constantFrom('reset' as const, 'hang' as const, 'truncate' as const) }),
    fc.record({ kind: fc.constant('delay' as const), duration: fc.nat() }),
    fc.record(
      {
        kind: fc.constant('status' as const),
        status: fc.integer({ min: 400, max: 599 }),
        when: fc.constant('after' as const),
        retryAfter: fc.option(fc.nat()),
        body: fc.oneof(
          fc.string({ unit: anyCodePoint }),
          fc.object({ maxDepth: 1, values: [fc.string()] }),
        ),
        headers: fc.constant({ 'X-A': '{"', 'X-B': '\\ ,}' }),
      },
      { requiredKeys: ['kind', 'status'] },
    ),
  )
  const step = fc.record({ point: fc.constantFrom('createPet#1', 'getPet#12', 'other#3'), fault })
  fc.assert(
    fc.property(fc.uniqueArray(step, { selector: ({ point }) => point, maxLength: 3 }), steps => {
      const text = steps
        .map(({ point, fault }) => `${point}=${faultText(fault as Fault)}`)
        .join(' ')
      const parsed = parseSchedule(text)
      assert.equal(scheduleText(parsed), text)
      assert.deepEqual(
        parsed.map(({ fault }) => faultText(fault)),
        steps.map(({ fault }) => faultText(fault as Fault)),
      )
    }),
  )
})

test('fault text - a mistake is named with its fix', async () => {
  const faults: Record<string, string> = {
    resett: 'Expected `fault` to be one of reset, hang, truncate, ',
    'status:200': 'Invalid `fault`: Expected `status` to be an integer from 400 to 599, got 200',
    status:
      "Expected `fault` to be status:<400 to 599>, such as status:503 or status:503-after, got 'status'",
    'delay:31':
      "Expected `fault` to be delay:<duration>, such as delay:500ms, delay:31s or delay:2m, got 'delay:31'",
    'reset:1s': "Expected `fault` to be reset without a value, got 'reset:1s'",
    'status:503{retryAfter:2}': `Expected \`fault\` to be followed by fields as JSON, such as {"retryAfter":2}, got 'status:503{retryAfter:2}'`,
    'reset{"ms":1}': 'Invalid `fault`: Unknown option `ms`; expected one of ',
  }
  for (const [text, message] of Object.entries(faults)) {
    assert.throws(() => parseFault('fault', text), startingWith(message), text)
  }
  const schedules: Record<string, string> = {
    'getPet#0=reset':
      "Expected `schedule` to be faults at requests, such as `createPet#1=reset getPet#2=delay:31s`, got 'getPet#0=reset'",
    'deletePet#1=reset':
      "Expected `schedule` to be faults at requests of listPets, createPet, getPet, other, got 'deletePet#1=reset'",
    'getPet#1=reset{"keyId":"ci"}':
      'Expected `schedule getPet#1` to be without `keyId`: it comes to one request at a time, and what it does is certain, got one with `keyId`',
    'getPet#1=reset getPet#1=hang':
      "Expected `schedule` to be at most one fault for each request, got 'getPet#1' twice",
  }
  for (const [text, message] of Object.entries(schedules)) {
    assert.throws(() => parseSchedule(text), startingWith(message), text)
  }
  const options: [object, string][] = [
    [{ faults: [] }, 'Expected `faults` to be an array of at least one fault, got an array'],
    [{ faults: ['reset', { kind: 'hang', nth: 2 }] }, 'Expected `faults[1]` to be without `nth`'],
    [
      { double: { time: 'running' } },
      "Expected `double.time` to be an instant: a run has virtual time, got 'running'",
    ],
  ]
  for (const [given, message] of options) {
    await assert.rejects(
      explore(() => {}, given),
      startingWith(message),
    )
  }
  await assert.rejects(explore('work' as never), startingWith('Expected `work` to be a function'))
})

test('explore - the same fault in two forms is one fault', () => {
  assert.deepEqual(
    readFaults(['delay:60s', 'delay:1m', { kind: 'delay', duration: 60_000 }]).length,
    1,
  )
  assert.equal(readFaults([...FAULTS, ...FAULTS]).length, FAULTS.length)
})

/** Which kinds and fields there are is said elsewhere. */
function startingWith(message: string) {
  return ({ name, message: whole }: Error) => {
    assert.deepEqual([name, whole.slice(0, message.length)], ['OptionError', message])
    return true
  }
}
