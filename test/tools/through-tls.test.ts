import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { toNodeHandler } from '../../adapters/http/index.js'
import { createTestDouble } from '../../adapters/test-double/index.js'
import { createCertificate, withoutOpenSsl } from '../engines/engines.js'
import { runCommand } from '../support/command.js'
import { temporaryFolder } from '../support/temporary-folder.js'

test('exec --through - TLS, with a certificate of an authority of its own', {
  skip: withoutOpenSsl,
}, async t => {
  const folder = temporaryFolder(t)
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  createCertificate(key, cert)
  const double = createTestDouble({ time: 'running' })
  const options = { key: await readFile(key), cert: await readFile(cert) }
  const server = createServer(options, toNodeHandler(double)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`

  const trusting = await exec(url, { NODE_EXTRA_CA_CERTS: cert })
  assert.deepEqual([trusting.code, trusting.stdout], [0, '200 200\n'], trusting.stderr)
  assert.equal(trusting.stderr, 'Verdict: no violations in 2 requests.\n')
  const wary = await exec(url, {})
  assert.deepEqual([wary.code, wary.stdout], [1, '502 502\n'])
  assert.match(
    wary.stderr,
    /did not arrive in full, .*: the TLS certificate .* is not accepted; trust .* \(DEPTH_ZERO_SELF_SIGNED_CERT\)\.\n/,
  )
  assert.equal(double.requests().length, 2)
})

function exec(url: string, variables: Readonly<Record<string, string>>) {
  const { NODE_EXTRA_CA_CERTS: _, ...environment } = process.env
  const script = `const { ADOPTION_STORE_BASE_URL: url, ADOPTION_STORE_API_KEY: key } = process.env
    const get = async () => (await fetch(url + '/pets', { headers: { authorization: 'Bearer ' + key } })).status
    console.log(await get(), await get())`
  const command = [process.execPath, '--input-type=module', '-e', script]
  const words = ['exec', '--through', url, '--api-key', 'demo-free', '--', ...command]
  return runCommand(words, { ...environment, ...variables })
}
