// The reporter of `npm test`: a dot for 50 tests and an F for each failure as they run; then each failure once, with what its file
// wrote to stderr, the counts, and why tests were skipped. A file that passes prints nothing.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { inspect } from 'node:util'

export default async function* summary(source) {
  const failures = []
  const skips = new Map()
  const stderr = new Map()
  let passed = 0
  let seen = 0
  const start = performance.now()
  for await (const { type, data } of source) {
    if (type === 'test:stderr') {
      const { file = 'no file', message } = data
      stderr.set(file, (stderr.get(file) ?? '') + message)
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue
    if (data.details.type === 'suite') continue
    if (++seen % 50 === 0) yield '.'
    if (data.skip !== undefined) skips.set(data.skip, (skips.get(data.skip) ?? 0) + 1)
    else if (type === 'test:pass') passed++
    else if (data.details.error.failureType !== 'subtestsFailed') {
      failures.push(data)
      yield 'F'
    }
  }
  const seconds = Math.round((performance.now() - start) / 1_000)
  // One mistake may fail many tests: what they say is printed once.
  const messages = new Set()
  for (const { name, file, line, details } of failures) {
    yield `\nfailed: ${name} (${file === undefined ? 'no file' : `${relative('.', file)}:${line}`})\n`
    const { cause, message } = details.error
    const said = String(cause?.message ?? cause ?? message)
    // Whole, an assertion shows its values a second time.
    const shown = cause?.code === 'ERR_ASSERTION' ? cause.stack : inspect(cause)
    if (!messages.has(said)) yield `${cause instanceof Error ? shown : said}\n`
    messages.add(said)
    for (const [from, text] of stderr) {
      if (!isOf(from, file)) continue
      yield `stderr of ${relative('.', from)}:\n${text}`
      stderr.delete(from)
    }
  }
  const skipped = [...skips.values()].reduce((sum, count) => sum + count, 0)
  yield `\n${passed} passed, ${failures.length} failed, ${skipped} skipped, in ${seconds} s\n`
  for (const [reason, count] of skips) yield `skipped ${count}: ${reason}\n`
}

/** True if a file printed this, or one with which test/run.mjs runs it together. */
function isOf(from, file = 'no file') {
  if (from === file) return true
  const imported = relative('dist/test', file).replaceAll('\\', '/')
  return /\btogether\b/.test(from) && readFileSync(from, 'utf8').includes(`'../${imported}'`)
}
