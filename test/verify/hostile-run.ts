// Verifies the server at an address in a process of its own, and prints what it found.
import { VerifyError, verify } from '../../adapters/verify/index.js'

// `resourceUsage` would count the process that started this one.
let peak = 0
const measure = () => {
  peak = Math.max(peak, process.memoryUsage.rss())
}
setInterval(measure, 10).unref()

const [baseUrl = '', apiKey = '', limit] = process.argv.slice(2)
const timeoutMs = Number(limit)
const only = ['auth', 'list', 'http', 'ratelimit']
const lines = await verify({
  baseUrl,
  apiKey,
  timeout: timeoutMs,
  maxWait: 30_000,
  sleep,
  only,
}).then(
  ({ results }) =>
    results.flatMap(({ id, failure }) => (failure ? [`${id}: ${failure.came}`] : [])),
  (error: unknown) => {
    if (error instanceof VerifyError) return [error.message]
    throw error
  },
)
measure()
process.stdout.write(JSON.stringify({ lines, mebibytes: Math.round(peak / 1_048_576) }))

/** Only Retry-After is waited for, and that is another test's. */
async function sleep(): Promise<void> {}
