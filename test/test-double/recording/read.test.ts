import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createTestDouble, openRecording } from '../../../adapters/test-double/index.js'
import { RecordingError } from '../../../adapters/test-double/recording/file.js'

test('recording - a file that is cut off anywhere is refused in one line', async () => {
  const text = await recorded()
  for (let length = 0; length < text.length - 2; length += 7) {
    await assert.rejects(openRecording(text.slice(0, length)), isOneLine)
  }
})

test('recording - a file that is damaged anywhere is refused, or its replay differs', async () => {
  const text = await recorded()
  const byte = fc.record({ at: fc.nat(text.length - 3), with: fc.constantFrom('0', '"', '}', 'x') })
  await fc.assert(
    fc.asyncProperty(byte, async ({ at, with: character }) => {
      const damaged = text.slice(0, at) + character + text.slice(at + 1)
      try {
        const { double, difference } = await (await openRecording(damaged)).replay()
        await double.close()
        assert.ok(difference === undefined || /^[^\n]+$/.test(difference.what))
      } catch (error) {
        assert.match((error as Error).message, /^[^\n]+$/)
        assert.match(
          (error as Error).name,
          /^(RecordingError|OptionError|ApiError)$/,
          String(error),
        )
      }
    }),
    { numRuns: 300 },
  )
})

test('recording - other files, other versions and missing steps are refused by name', async () => {
  const text = await recorded()
  const head = '{"format":"animal-adoption-store recording","version"'
  const cases: [text: string, message: RegExp][] = [
    ['[]', /^The recording is not a recording; expected a file of exec --record$/],
    ['null', /is not a recording/],
    [
      `${head}:2}`,
      /^The recording has version 2 of the format, and this program reads version 1; /,
    ],
    [`${head}:1}`, /^The recording is damaged: `begin` is required$/],
    [text.replace('"step":2,', '"step":3,'), /damaged: step 2 is missing, or not in its place$/],
    [text.replace('"do":"answer"', '"do":"reply"'), /^The recording is damaged: `steps\.1/],
    [
      text.replace(/"digest":"[0-9a-z]{12}"/, '"digest":"ab"'),
      /`steps\.0\.digest` must be 12 letters/,
    ],
  ]
  for (const [given, message] of cases) await assert.rejects(openRecording(given), { message })
})

function isOneLine(error: unknown): boolean {
  assert.ok(error instanceof RecordingError)
  assert.match(error.message, /^The recording (is damaged: |is not )[^\n]+$/)
  return true
}

async function recorded(): Promise<string> {
  await using double = createTestDouble()
  const recording = await double.record()
  const headers = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }
  const body = '{"name":"Ada","categoryId":9223372036854775807}'
  await (await double.fetch('pets', { method: 'POST', headers, body })).text()
  double.faults.arm({ kind: 'status', status: 503 })
  await (await double.fetch('pets', { headers })).text()
  await double.restore(await double.snapshot())
  return recording.json()
}
