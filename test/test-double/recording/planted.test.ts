import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { differenceOfRecordings } from '../../../adapters/test-double/recording/diff.js'
import type { RecordingFile, Step } from '../../../adapters/test-double/recording/file.js'
import { readRecording } from '../../../adapters/test-double/recording/file.js'
import { createDoubleFor, takeSteps } from '../../../adapters/test-double/recording/replay-steps.js'
import { BUILD_URL } from '../../support/paths.js'
import type { Plant } from './plant-hooks.js'

/** Faults of a server, each with the first step of `story.ts` in which it shows. */
const PLANTS: readonly (Plant & { readonly name: string; readonly shows: string })[] = [
  {
    name: 'ids skip one',
    file: 'adapters/memory.js',
    from: 'nextId = id + 1;',
    to: 'nextId = id + 2;',
    shows: 'send 1',
  },
  {
    name: 'a header is missing',
    file: 'src/protocol/response.js',
    from: "headers['X-Content-Type-Options'] = 'nosniff';",
    to: '',
    shows: 'answer 1',
  },
  {
    name: 'the limit is one too low',
    file: 'src/limits/decide.js',
    from: 'if (!banned && minuteLeft > 0',
    to: 'if (!banned && minuteLeft > 1',
    shows: 'send 9',
  },
  {
    name: 'the clock goes too far',
    file: 'clock/clock.js',
    from: "durationOf('advance', duration)",
    to: "2 * durationOf('advance', duration)",
    shows: 'clock',
  },
  {
    name: 'a reset keeps the counters',
    file: 'test-double/state.js',
    from: 'const rateLimits = memoryRateLimits();\n    rateLimits.restore(usage);',
    to: 'const rateLimits = (globalThis.kept ??= memoryRateLimits());',
    shows: 'reset',
  },
  {
    name: 'a fault has the store do nothing',
    file: 'faults/inject-fault.js',
    from: "const isAfter = fault.when === 'after';",
    to: "const isAfter = fault.when === 'later';",
    shows: 'send 15',
  },
]

test('recording - diff and replay name the first step of every planted server fault', async () => {
  const good = await record()
  assert.deepEqual(differenceOfRecordings(good, await record()), undefined)
  for (const { name, shows, ...plant } of PLANTS) {
    const bad = await record(plant)
    const found = differenceOfRecordings(good, bad)
    assert.equal(found && placeOf(good.steps[found.step - 1]), shows, `${name}: ${found?.what}`)
    // The server without the fault cannot repeat what the one with it did; only the time comes from the file.
    if (shows === 'clock') continue
    const replayed = await takeSteps(createDoubleFor(bad), bad)
    assert.equal(replayed && placeOf(bad.steps[replayed.step - 1]), shows, name)
  }
})

function placeOf(step: Step | undefined): string | undefined {
  return step && 'id' in step ? `${step.do} ${step.id}` : step?.do
}

async function record(plant?: Plant): Promise<RecordingFile> {
  const hooks = plant ? ['--import', built('plant.js').href] : []
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...hooks, fileURLToPath(built('story.js'))],
    { env: { ...process.env, PLANT: JSON.stringify(plant) } },
  )
  return readRecording(stdout, 'run.json')
}

/** The faults are changes to the build. */
function built(file: string): URL {
  return new URL(`test/test-double/recording/${file}`, BUILD_URL)
}
