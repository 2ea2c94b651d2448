import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { toNodeHandler } from '../../adapters/http/index.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { MAIN } from '../support/paths.js'

const withoutOpenssl = spawnSync('openssl', ['version']).error && 'openssl is not installed'

test('exec --through - TLS, with a certificate of an authority of its own', {
  skip: withoutOpenssl ?? false,
}, async t => {
  const folder = await mkdtemp(join(tmpdir(), 'adoption-tls-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const words =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
  const extension = 'subjectAltName=DNS:localhost'
  const made = spawnSync('openssl', [
    ...words.split(' '),
    '-addext',
    extension,
    '-keyout',
    key,
    '-out',
    cert,
  ])
  assert.equal(made.status, 0, String(made.stderr))
  const double = createTestDouble({ clock: 'running' })
  const options = { key: await readFile(key), cert: await readFile(cert) }
  const server = createServer(options, toNodeHandler(double)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `https://localhost:${(server.address() as AddressInfo).port}/v1`

  const trusting = await exec(url, { NODE_EXTRA_CA_CERTS: cert })
  assert.deepEqual([trusting.code, trusting.stdout], [0, '200 200\n'], trusting.stderr)
  assert.equal(trusting.stderr, 'Verdict: no violations in 2 requests.\n')
  const wary = await exec(url, {})
  assert.deepEqual([wary.code, wary.stdout], [1, '502 502\n'])
  assert.match(
    wary.stderr,
    /did not arrive in full, .*: the TLS certificate .* is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)\.\n/,
  )
  assert.equal(double.requests().length, 2)
})

async function exec(url: string, variables: Readonly<Record<string, string>>) {
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env
  const script = `const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
    const get = async () => (await fetch(url + '/pets', { headers: { authorization: 'Bearer ' + key } })).status
    console.log(await get(), await get())`
  const command = [process.execPath, '--input-type=module', '-e', script]
  const words = ['exec', '--through', url, '--key', 'demo-free', '--strict', '--', ...command]
  const child = spawn(process.execPath, [MAIN, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...environment, ...variables },
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  return { stdout, stderr, code }
}
