import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from '../../support/command.js'

test('exec --skip-waits - a client that exhausts its minute waits no real time', async () => {
  const client = `
    const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
    const headers = { authorization: 'Bearer ' + key }
    const begin = [Date.now(), performance.now()]
    for (let call = 0; call < 65; ) {
      const { status, headers: got } = await fetch(url + '/pets', { headers })
      if (status !== 429) call++
      else await new Promise(resolve => setTimeout(resolve, got.get('retry-after') * 1000))
    }
    const passed = [Date.now() - begin[0], performance.now() - begin[1]]
    console.log(passed.map(ms => Math.round(ms / 20_000)), new Date(begin[0]).toISOString().slice(0, 16))`
  const { code, stdout, stderr } = await runCommand([
    ...['exec', '--skip-waits', '--strict=notes', '--', process.execPath],
    ...['--input-type=module', '-e', client],
  ])
  assert.deepEqual([code, stdout], [0, '[ 3, 3 ] 2030-01-01T00:00\n'], stderr)
  assert.match(stderr, /^Verdict: no violations in 66 requests\..*\nSkipped (5\d s|1 min)/s)
})
