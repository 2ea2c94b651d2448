import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const BENCH = fileURLToPath(new URL('..', import.meta.url))
const running = new Set()
/** The children's temporary files; killed children cannot clean up. */
const folder = mkdtempSync(join(tmpdir(), 'animal-bench-'))
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** With two cores and `taskset`, the measured process has the first core to itself. */
const pinned = process.platform === 'linux' && cpus().length > 1

/** Leaves the first core to the measured process. */
export function stayOnOtherCores() {
  if (!pinned) return
  const others = `1-${cpus().length - 1}`
  execFileSync('taskset', ['-a', '-cp', others, String(process.pid)], { stdio: 'ignore' })
}

/** Starts Node on the first core. Node's `--flags` may precede the file. */
export function startNode(args) {
  const node = [process.execPath, ...args]
  const [command, ...rest] = pinned ? ['taskset', '-c', '0', ...node] : node
  const child = spawn(command, rest, {
    cwd: BENCH,
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** The JSON value on the first line of a child's output. */
export async function firstLine(child) {
  const lines = createInterface({ input: child.stdout })
  const died = once(child, 'exit').then(([code]) => {
    throw new Error(`${child.spawnargs.join(' ')} exited with ${code} before printing anything`)
  })
  died.catch(() => {})
  const [line] = await Promise.race([once(lines, 'line'), died])
  lines.close()
  child.stdout.resume()
  return JSON.parse(line)
}

/** Starts a server and waits for the address that it prints. */
export async function startServer(args) {
  const child = startNode(args)
  const { origin } = await firstLine(child)
  return { child, origin }
}

/** The JSON value that a script prints; undefined after `seconds`. */
export async function result(args, seconds = 600) {
  const child = startNode(args)
  const timer = setTimeout(() => child.kill('SIGKILL'), seconds * 1000)
  try {
    return await firstLine(child)
  } catch (error) {
    if (child.signalCode === 'SIGKILL') return undefined
    throw error
  } finally {
    clearTimeout(timer)
    await stop(child)
  }
}

export async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** CPU seconds of a process, user and system. */
export function cpuSeconds({ pid }) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  const ticksPerSecond = 100
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

export function residentMiB({ pid }) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) / 1024
}
