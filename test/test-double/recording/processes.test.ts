import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { createTestDouble, openRecording } from '../../../adapters/test-double/index.js'
import { act, inProcess, scenario } from './scenario.js'

const RUNS = process.env['ADOPTION_STORE_CHAOS'] === 'long' ? 1_000 : 100
/** Paths of other versions of Node. */
const NODES = process.env['ADOPTION_STORE_NODES']?.split(delimiter) ?? []
const SCRIPT = fileURLToPath(new URL('replay-all.js', import.meta.url))

test(`recording - ${RUNS} random scenarios have equal digests in another process`, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-recordings-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'recordings.txt')
  const lines: string[] = []
  let steps = 0
  await fc.assert(
    fc.asyncProperty(scenario, async ({ options, deeds }) => {
      await using double = createTestDouble(options)
      const recording = await double.record()
      await act(double, deeds, await inProcess(double))
      const text = await recording.json()
      steps += (await openRecording(text)).steps.length
      lines.push(`${JSON.stringify(text)}\n`)
    }),
    { numRuns: RUNS },
  )
  await writeFile(file, lines.join(''))
  for (const node of [process.execPath, ...NODES]) {
    const { stdout } = await promisify(execFile)(node, [SCRIPT, file])
    assert.match(stdout, new RegExp(`^v\\d\\S* ${RUNS} ${steps}\\n$`))
    t.diagnostic(stdout.trim())
  }
})
