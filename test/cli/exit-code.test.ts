import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { watchExitCode } from '../../adapters/cli/exit-code.js'

test('exit code - is not certain where the pipe ends after the process only', async () => {
  const open = () => {
    const pipe = new PassThrough()
    const child = { stdio: [null, null, null, pipe, null] } as unknown as ChildProcess
    return { pipe, exitCode: watchExitCode(child) }
  }
  const early = open()
  early.pipe.end()
  await once(early.pipe, 'end')
  assert.equal(await early.exitCode.isCertain(0, null), true)
  const late = open()
  const isCertain = late.exitCode.isCertain(0, null)
  late.pipe.end()
  assert.equal(await isCertain, false)
  // A process that it has started holds the pipe.
  assert.equal(await open().exitCode.isCertain(0, null), true)
  for (const [code, signal] of [
    [7, null],
    [null, 'SIGKILL'],
  ] as const) {
    const { pipe, exitCode } = open()
    const isCertain = exitCode.isCertain(code, signal)
    pipe.end()
    assert.equal(await isCertain, true)
  }
})
