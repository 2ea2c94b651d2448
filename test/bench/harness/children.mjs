import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const BENCH = fileURLToPath(new URL('..', import.meta.url))
const running = new Set()
/** For temporary files, also of the children: killed, they cannot clean up. */
export const folder = mkdtempSync(join(tmpdir(), 'animal-bench-'))
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
async function firstLine(child) {
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

/** CPU seconds of all threads of a process, in steps of nanoseconds: those of `stat` are 10 ms. */
export function cpuSeconds({ pid }) {
  const tasks = `/proc/${pid}/task`
  const times = readdirSync(tasks).map(id => readFileSync(`${tasks}/${id}/schedstat`, 'utf8'))
  return times.reduce((sum, time) => sum + Number(time.split(' ')[0]) / 1e9, 0)
}
