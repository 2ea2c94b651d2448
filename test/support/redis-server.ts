import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const PROGRAM = ['redis-server', 'valkey-server'].find(
  name => spawnSync(name, ['--version']).status === 0,
)

/** For the `skip` of a test: false, or what this machine lacks. */
export const withoutRedis = PROGRAM ? false : 'needs redis-server or valkey-server'

export interface RedisServer extends AsyncDisposable {
  readonly url: string
  stop(): Promise<void>
}

/** On a free loopback port and in a folder of its own; keeps nothing. */
export async function startRedis(): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), 'adoption-redis-'))
  const port = await freePort()
  const settings = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  const server = spawn(PROGRAM as string, settings, { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface(server.stdout)) {
    if (/ready to accept connections/i.test(line)) break
  }
  server.stdout.resume()
  const stop = () => end(server, folder)
  return { url: `redis://127.0.0.1:${port}`, stop, [Symbol.asyncDispose]: stop }
}

async function end(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    server.kill('SIGKILL')
    await once(server, 'exit')
  }
  rmSync(folder, { recursive: true, force: true })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
