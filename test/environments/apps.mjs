// Small apps of frameworks, with the handler over a JSON file, and the cases in a route.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const HEADERS = { authorization: 'Bearer demo-free', 'content-type': 'application/json' }
const STORE = join('next', 'lib', 'store.js')

/** `next build` and `next start`. */
export async function runNext(env) {
  await run('npx', ['next', 'build', 'next'], { env })
  assert.equal(existsSync('next/pets.json'), false)
  return served(['npx', 'next', 'start', 'next', '-H', '127.0.0.1', '-p'], env, async origin => {
    await createsAndLists(origin, 1)
    assert.match(await (await fetch(`${origin}/list`)).text(), /<p>Rex<\/p>/)
    return (await fetch(`${origin}/cases`)).json()
  })
}

/** `next dev`, with three edits of the module that opens the store. */
export function editNext(env) {
  const source = readFileSync(STORE, 'utf8')
  return served(['npx', 'next', 'dev', 'next', '-H', '127.0.0.1', '-p'], env, async origin => {
    for (let edit = 1; edit <= 4; edit++) {
      await createsAndLists(origin, edit)
      const page = await (await fetch(`${origin}/list`)).text()
      assert.equal(page.match(/<p>([^<]*)/)[1], Array(edit).fill('Rex').join())
      writeFileSync(STORE, `${source}// ${edit}\n`)
    }
    return (await fetch(`${origin}/cases`)).json()
  }).finally(() => writeFileSync(STORE, source))
}

/** `nitropack build`, and the server that it makes. */
export async function runNitro(env) {
  await run('npx', ['nitropack', 'build', 'nitro'], { env })
  const server = ['node', 'nitro/.output/server/index.mjs']
  return served(server, env, async origin => {
    await createsAndLists(origin, 1)
    return (await fetch(`${origin}/cases`)).json()
  })
}

async function createsAndLists(origin, count) {
  const sent = { method: 'POST', headers: HEADERS, body: '{"name":"Rex","categoryId":1}' }
  const created = await fetch(`${origin}/v1/pets`, sent)
  assert.equal(created.status, 201, await created.text())
  const listed = await fetch(`${origin}/v1/pets`, { headers: HEADERS })
  assert.equal((await listed.json()).length, count)
}

/** @param command is followed by the port, which Nitro takes from its environment */
async function served(command, env, use) {
  const port = await freePort()
  const [program, ...words] = [...command, `${port}`]
  const options = { env: { ...env, PORT: port, HOST: '127.0.0.1' }, detached: true }
  const child = spawn(program, words, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    let text = ''
    for await (const part of child.stdout.iterator({ destroyOnReturn: false })) {
      text += part
      if (/Ready in|Listening on/.test(text)) break
    }
    child.stdout.resume()
    return await use(`http://127.0.0.1:${port}`)
  } finally {
    // With what npx has started.
    process.kill(-child.pid, 'SIGKILL')
    for (const name of ['', '.lock', '.journal']) {
      for (const folder of ['next', '.']) {
        rmSync(join(folder, `pets.json${name}`), { recursive: true, force: true })
      }
    }
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise(resolve => server.close(resolve))
  return port
}
