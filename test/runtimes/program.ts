import { createClient } from '../../adapters/client/index.js'
import { storageSuite } from '../../adapters/stores/kit/suite.js'
import { memoryRateLimitStore, memoryStorage } from '../../adapters/stores/memory.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { consumerOf, rateLimitSuite } from '../limits/rate-limit-suite.js'
import { protocolSuite } from '../protocol/checks/suite.js'
import { DOORS } from '../support/doors.js'
import { type Result, runAll, test } from './node-test.js'
import { verifiedSuite } from './verified.js'
import '../client/backoff.test.js'
import '../client/idempotency.test.js'
import '../client/throttle.test.js'
import '../http/fetch.test.js'
import '../verdict/judge/judge.test.js'
import '../test-double/fault-scope.test.js'
import '../test-double/idempotency.test.js'
import '../test-double/journal.test.js'
import '../verdict/verdict-rules.test.js'
import '../test-double/virtual-clock.test.js'

storageSuite((name, run) => test(`storage ${name}`, run), {
  create: memoryStorage,
  idempotency: true,
})
for (const name of ['handle', 'fetch'] as const) {
  const open = DOORS[name]
  protocolSuite(name, open)
  verifiedSuite(name, open)
}
rateLimitSuite('memory', () => consumerOf(memoryRateLimitStore()))

// Tests wait for turns of the loop. A timer of a page would take 4 ms for each, and workerd has no channels.
const later = (task: () => void) => {
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', () => {
    port1.close()
    task()
  })
  port1.start()
  port2.postMessage(null)
}
const isWorkerd =
  (globalThis as { navigator?: { userAgent: string } }).navigator?.userAgent ===
  'Cloudflare-Workers'
globalThis.setImmediate ??= (isWorkerd ? setTimeout : later) as never

/** Runs everything. The digest is that of one program, and the same in every runtime. */
export async function run(): Promise<Result & { readonly digest: string }> {
  return { ...(await runAll()), digest: await digestOfProgram() }
}

/** Two clients share a key until it is exhausted, through faults and a day of virtual time. */
async function digestOfProgram(): Promise<string> {
  const double = createTestDouble()
  await double.seed([{ name: 'Ada 🐈 \ud800', categoryId: 9223372036854775807n }])
  double.faults.arm({ kind: 'status', status: 503, times: 3 })
  const { clock, fetch, baseUrl } = double
  await double.run(async () => {
    const surroundings = { fetch, clock, sleep: clock.sleep, random: () => 0.5 }
    const client = createClient({ baseUrl, apiKey: 'demo-free', ...surroundings })
    for (let n = 0; n < 150; n++) await client.listPets({ limit: 1 + (n % 3) })
    await client.close()
  })
  const text = JSON.stringify([double.requests(), double.report(), double.clock()])
  let hash = 0x811c9dc5
  for (const character of text) {
    hash = Math.imul(hash ^ (character.codePointAt(0) as number), 0x01000193) >>> 0
  }
  return hash.toString(16)
}
