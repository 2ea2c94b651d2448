import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { HOSTILE_SERVERS, type HostileServer, KEY, openHostile } from './hostile-servers.js'

/**
 * A heap of this size has to do, however late a busy machine collects garbage. What the process has in
 * all, with buffers and code, depends on that.
 */
const HEAP = '--max-old-space-size=160'
const MOST_MEBIBYTES = 500
const ATTEMPTS = 3
/** Most of them wait for a time limit. */
const AT_ONCE = 3

test('verify - no server keeps a run from ending, or fills its memory', async () => {
  const left = [...HOSTILE_SERVERS]
  const work = async () => {
    for (let server = left.shift(); server; server = left.shift()) await endsWell(server, ATTEMPTS)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
})

async function endsWell(hostile: HostileServer, attempts: number): Promise<void> {
  const { name, says } = hostile
  const server = await openHostile(hostile)
  try {
    const { lines, mebibytes } = await runAt(server.baseUrl, hostile.timeout)
    const shown = `${name}: ${lines.join('\n').slice(0, 2_000)}`
    assert.ok(
      lines.some(line => says.test(line)),
      shown,
    )
    for (const line of lines) assert.doesNotMatch(line, /UND_ERR|[\n\x1b]|hostile-key/, name)
    if (mebibytes >= MOST_MEBIBYTES && attempts > 1) return await endsWell(hostile, attempts - 1)
    assert.ok(mebibytes < MOST_MEBIBYTES, `${name}: ${mebibytes} MiB`)
  } finally {
    server.close()
  }
}

/** In a process of its own, which ends by itself only if nothing of the server is left. */
async function runAt(
  baseUrl: string,
  timeoutMs = 60_000,
): Promise<{ lines: readonly string[]; mebibytes: number }> {
  const script = fileURLToPath(new URL('./hostile-run.js', import.meta.url))
  const child = spawn(process.execPath, [HEAP, script, baseUrl, KEY, String(timeoutMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  assert.equal(code, 0)
  return JSON.parse(output)
}
