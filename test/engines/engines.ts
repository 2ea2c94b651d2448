import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import { ROOT_URL } from '../support/paths.js'

/** An engine installed on this machine, started on a free loopback port in a temporary folder. */
export interface Engine extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Its temporary folder. */
  readonly folder: string
  /** Sends a signal to all of its processes; SIGKILL waits until they are gone. */
  signal(name: NodeJS.Signals): Promise<void>
  /** Starts it again on the same port and data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** For tests of anything but time limits: no machine is ever busy enough to reach it. */
export const PATIENT = { timeout: 60_000 } as const

const POSTGRES = findProgram('initdb', debianPostgres())
const PGBOUNCER = findProgram('pgbouncer', ['/usr/sbin'])
const SETPRIV = findProgram('setpriv')
const OPENSSL = findProgram('openssl')
const NGINX = findProgram('nginx', ['/usr/sbin'])
const REDIS = findProgram('redis-server') ?? findProgram('valkey-server')

/** For the `skip` of a test: false, or what is missing. */
export const withoutPostgres = missing(POSTGRES, 'PostgreSQL')
export const withoutRedis = missing(REDIS, 'Redis or Valkey')
export const withoutPgBouncer = withoutPostgres || missing(PGBOUNCER, 'PgBouncer')
/** Not engines: nothing in the package needs them. */
export const withoutOpenSsl = OPENSSL ? false : 'openssl is not installed'
export const withoutNginx = NGINX ? false : 'nginx is not installed'
export const withoutBoth = withoutPostgres || withoutRedis

/** @param settings such as `max_connections=20` */
export async function startPostgres(...settings: readonly string[]): Promise<Engine> {
  const programs = dirname(realpathSync(POSTGRES as string))
  const folder = createFolder('postgres')
  const data = join(folder, 'data')
  const words = ['-D', data, '-U', 'adoption', '--auth=trust', '-E', 'UTF8', '--no-locale']
  execFileSync(join(programs, 'initdb'), [...words, '--no-sync', '--no-instructions'], {
    ...unprivileged(),
    stdio: 'ignore',
  })
  const port = await freePort()
  const all = [`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`]
  const flags = [...all, ...settings].flatMap(setting => ['-c', setting])
  return startEngine({
    program: join(programs, 'postgres'),
    words: ['-D', data, ...flags],
    ready: /ready to accept (read-only )?connections/,
    // A fast shutdown: it does not wait for the clients to leave.
    stopSignal: 'SIGINT',
    folder,
    port,
    url: `postgres://adoption@127.0.0.1:${port}/postgres`,
  })
}

/** PostgreSQL that takes TLS too, and the certificate that it signed itself. */
export async function startSecurePostgres(): Promise<Engine & { readonly certificate: string }> {
  const secure = await startPostgres()
  const file = (name: string) => join(secure.folder, 'data', name)
  const [key, certificate] = [file('server.key'), file('server.crt')]
  createCertificate(key, certificate)
  const { uid, gid } = statSync(file('postgresql.conf'))
  for (const name of [key, certificate]) {
    chownSync(name, uid, gid)
    chmodSync(name, 0o600)
  }
  appendFileSync(file('postgresql.conf'), 'ssl = on\n')
  const client = new pg.Client(secure.url)
  await client.connect()
  await client.query('SELECT pg_reload_conf()')
  await client.end()
  return { ...secure, certificate }
}

/** A new database, and its URL. */
export async function createDatabase({ url }: Engine, name: string): Promise<string> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return url.replace(/[^/]*$/, name)
}

/**
 * Redis or Valkey, whichever is installed.
 *
 * @param settings such as `--maxmemory 2mb`
 */
export async function startRedis(...settings: readonly string[]): Promise<Engine> {
  const folder = createFolder('redis')
  const port = await freePort()
  const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '']
  return startEngine({
    program: REDIS as string,
    words: [...own, ...settings.flatMap(setting => setting.split(' '))],
    ready: /Ready to accept connections/i,
    stopSignal: 'SIGTERM',
    folder,
    port,
    url: `redis://127.0.0.1:${port}`,
  })
}

/** Three primaries that share the keys. */
export async function startRedisCluster(): Promise<Engine[]> {
  const buses = [await freePort(), await freePort(), await freePort()]
  const start = (bus: number) =>
    startRedis(
      '--cluster-enabled yes',
      // A node that a test freezes is never taken for dead.
      '--cluster-node-timeout 600000',
      `--cluster-port ${bus}`,
    )
  const nodes = await Promise.all(buses.map(start))
  const [first] = nodes as [Engine]
  const bounds = [0, 5_461, 10_923, 16_384]
  for (const [at, { port }] of nodes.entries()) {
    const slots = [String(bounds[at]), String(Number(bounds[at + 1]) - 1)]
    await redisCommand(port, 'CLUSTER', 'ADDSLOTSRANGE', ...slots)
    // Distinct epochs, so that the nodes need not negotiate them.
    await redisCommand(port, 'CLUSTER', 'SET-CONFIG-EPOCH', String(at + 1))
    const address = ['127.0.0.1', String(port), String(buses[at])]
    await redisCommand(first.port, 'CLUSTER', 'MEET', ...address)
  }
  for (const { port } of nodes) {
    for (let state = ''; !state.includes('cluster_state:ok'); ) {
      state = await redisCommand(port, 'CLUSTER', 'INFO')
    }
  }
  return nodes
}

/** The raw reply, without a client library. */
async function redisCommand(port: number, ...words: readonly string[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${words.join(' ')}\r\n`)
  const [reply] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return reply.toString()
}

/** PgBouncer in transaction mode in front of a PostgreSQL. */
export async function startPgBouncer(postgres: Engine): Promise<Engine> {
  const folder = createFolder('pgbouncer')
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  const settings = `[databases]
* = host=127.0.0.1 port=${postgres.port} user=adoption
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
`
  writeFileSync(file, settings)
  return startEngine({
    program: PGBOUNCER as string,
    words: [file],
    ready: /process up/,
    stopSignal: 'SIGINT',
    folder,
    port,
    url: `postgres://adoption@127.0.0.1:${port}/postgres`,
  })
}

/** @param config the `http` section, listening on port 80 */
export async function startNginx(config: string): Promise<Engine> {
  const folder = createFolder('nginx')
  const port = await freePort()
  const file = join(folder, 'nginx.conf')
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  writeFileSync(
    file,
    `daemon off;
pid ${folder}/nginx.pid;
error_log stderr notice;
events {}
http {
access_log off;
${paths.map(name => `${name}_temp_path ${folder}/${name};`).join('\n')}
${config.replace('listen 80;', `listen 127.0.0.1:${port};`)}
}
`,
  )
  return startEngine({
    program: NGINX as string,
    words: ['-c', file, '-p', folder, '-e', 'stderr'],
    ready: /start worker processes/,
    stopSignal: 'SIGTERM',
    folder,
    port,
    url: `http://127.0.0.1:${port}`,
  })
}

/** A file of the folder that deployments copy. */
export function deployed(file: string): string {
  return readFileSync(new URL(`adapters/stores/postgres/deploy/${file}`, ROOT_URL), 'utf8')
}

/** The nginx.conf of that folder, for two processes of this machine. */
export function deployedNginx(one: number, two: number): string {
  const ports = [one, two]
  return deployed('nginx.conf').replace(/\d[\d.]+:4280/g, () => `127.0.0.1:${ports.shift()}`)
}

/** A self-signed certificate for 127.0.0.1. */
export function createCertificate(keyFile: string, certificateFile: string): void {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const flags = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2']
  const output = ['-keyout', keyFile, '-out', certificateFile]
  execFileSync(OPENSSL as string, [...flags, ...subject, ...output], { stdio: 'ignore' })
}

/**
 * A port of this machine that nothing listens on, below those that the system gives to sockets, so
 * that none of them takes it before its server starts.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(randomInt(15_000, 32_000), '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch {
      continue
    }
    const { port } = server.address() as { port: number }
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Speaks another protocol than the engines. */
export async function startHttpServer(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer(socket => {
    socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return { port, [Symbol.asyncDispose]: async () => void server.close() }
}

interface Program extends Pick<Engine, 'url' | 'port' | 'folder'> {
  readonly program: string
  readonly words: readonly string[]
  /** The log line that says it is ready. */
  readonly ready: RegExp
  readonly stopSignal: NodeJS.Signals
}

async function startEngine(how: Program): Promise<Engine> {
  let child = await run(how)
  const killAtExit = () => {
    for (const pid of family(child)) process.kill(pid, 'SIGKILL')
    rmSync(how.folder, { recursive: true, force: true })
  }
  process.once('exit', killAtExit)

  return {
    url: how.url,
    port: how.port,
    folder: how.folder,
    async signal(name) {
      const gone = once(child, 'exit')
      for (const pid of family(child)) process.kill(pid, name)
      if (name === 'SIGKILL') await gone
    },
    async restart() {
      // The kernel may still be ending processes of a PostgreSQL that was killed.
      for (let tries = 1; ; tries++) {
        try {
          child = await run(how)
          return
        } catch (error) {
          if (tries === 100 || !/shared memory block .* still in use/.test(`${error}`)) throw error
        }
      }
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }

  async function stop(): Promise<void> {
    if (child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit')
      child.kill('SIGCONT')
      child.kill(how.stopSignal)
      await gone
    }
    process.off('exit', killAtExit)
    rmSync(how.folder, { recursive: true, force: true })
  }
}

async function run(how: Program): Promise<ChildProcess> {
  const { program, words, ready, folder, stopSignal } = how
  // The kernel stops it even if this process is killed.
  const untilDeath = SETPRIV ? [SETPRIV, '--pdeathsig', stopSignal.slice('SIG'.length)] : []
  const [command = '', ...args] = [...untilDeath, program, ...words]
  const child = spawn(command, args, {
    ...unprivileged(),
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      log += chunk
      if (!ready.test(log)) return
      // Keep draining the pipes: a full one would block the engine.
      for (const stream of [child.stdout, child.stderr]) stream.off('data', read).resume()
      resolve()
    }
    for (const stream of [child.stdout, child.stderr]) stream.on('data', read)
    child.once('exit', code => reject(new Error(`${program} ended with ${code}:\n${log}`)))
  })
  return child
}

/** A process and its children; PostgreSQL gives each of them a process group of its own. */
function family({ pid, exitCode, signalCode }: ChildProcess): number[] {
  if (pid === undefined || exitCode !== null || signalCode !== null) return []
  const pids = existsSync('/proc/self/stat')
    ? readdirSync('/proc').filter(name => /^\d+$/.test(name))
    : []
  return [pid, ...pids.map(Number).filter(child => statOf(child)?.[1] === String(pid))]
}

/** The fields of /proc/<pid>/stat from the third on. */
function statOf(pid: number): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}

/** A new folder, owned by the user that engines run as. */
export function createFolder(name: string): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `adoption-${name}-`)))
  const { uid, gid } = unprivileged()
  if (uid !== undefined && gid !== undefined) chownSync(folder, uid, gid)
  return folder
}

/** The user that engines run as: PostgreSQL refuses to run as root. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8').split('\n')
  const [, , uid, gid] = users.find(line => line.startsWith('nobody:'))?.split(':') ?? []
  return { uid: Number(uid), gid: Number(gid) }
}

function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter)
  return [...path, ...folders].map(folder => join(folder, name)).find(existsSync)
}

/** Where Debian keeps it, the newest first. */
function debianPostgres(): string[] {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).map(Number) : []
  return versions.toSorted((a, b) => b - a).map(version => join(root, String(version), 'bin'))
}

function missing(program: string | undefined, name: string): string | false {
  if (program) return false
  if (process.env['ADOPTION_STORE_ENGINES'] === 'required') {
    throw new Error(`${name} is not installed, and ADOPTION_STORE_ENGINES requires it`)
  }
  return `${name} is not installed`
}
