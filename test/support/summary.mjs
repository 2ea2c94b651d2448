// The reporter of `npm test`: a dot for 50 tests and each failure as it happens, then the counts, why tests were skipped, and the
// failures again, by name.
import { relative } from 'node:path'
import { inspect } from 'node:util'

export default async function* summary(source) {
  const failures = []
  const skips = new Map()
  let passed = 0
  let seen = 0
  const start = performance.now()
  for await (const { type, data } of source) {
    if (type === 'test:stderr') yield data.message
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details.type === 'suite') continue
    if (++seen % 50 === 0) yield '.'
    if (data.skip !== undefined) skips.set(data.skip, (skips.get(data.skip) ?? 0) + 1)
    else if (type === 'test:pass') passed++
    else if (data.details.error.failureType !== 'subtestsFailed') {
      const failure = `${data.name} (${place(data)})`
      failures.push(failure)
      yield `\nfailed: ${failure}\n${describe(data.details.error)}\n`
    }
  }
  const skipped = [...skips.values()].reduce((sum, count) => sum + count, 0)
  const seconds = Math.round((performance.now() - start) / 1_000)
  yield `\n${passed} passed, ${failures.length} failed, ${skipped} skipped, in ${seconds} s\n`
  for (const [reason, count] of skips) yield `skipped ${count}: ${reason}\n`
  for (const failure of failures) yield `failed: ${failure}\n`
}

function place({ file, line }) {
  return file === undefined ? 'no file' : `${relative('.', file)}:${line}`
}

function describe({ cause, message }) {
  return cause instanceof Error ? inspect(cause) : String(cause ?? message)
}
