/** A copy of the build, in which a defect is planted and taken out again, and what finds it there. */
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** In MB, of which a sound program needs a tenth. */
const MOST_MEMORY = 1_500
const LONGEST_RUN = 300_000

/** It is removed when the process ends. */
export function copyBuild() {
  const folder = mkdtempSync(join(tmpdir(), 'adoption-planted-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const part of ['dist', 'test', 'adapters', 'src', 'package.json', 'README.md']) {
    const filter = path => !path.includes('node_modules')
    cpSync(join(ROOT, part), join(folder, part), { recursive: true, filter })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Changes a file of dist/ while the task runs. */
export async function planted(folder, file, change, task) {
  const path = join(folder, 'dist', file)
  const code = readFileSync(path, 'utf8')
  writeFileSync(path, change(code))
  try {
    return await task()
  } finally {
    writeFileSync(path, code)
  }
}

/**
 * After how many events the simulation finds something with a seed in some worlds, and the invariant that
 * it names; how it ended if it names none. Undefined if it finds nothing.
 */
export async function simulated(folder, seed, steps, ...worlds) {
  const asked = ['--seed', seed, '--steps', steps, ...worlds.flatMap(world => ['--world', world])]
  const program = [`--max-old-space-size=${MOST_MEMORY}`, 'dist/test/simulate/run.js']
  const { stdout, code, signal } = await node(folder, [...program, ...asked])
  if (code === 0) return undefined
  const count = Number(/: (\d+) steps in/.exec(stdout)?.[1])
  // The last world goes on to its end.
  if (count > steps) return undefined
  return {
    steps: count,
    invariant: /^([a-z]+\.[a-z]+): /m.exec(stdout)?.[1] ?? `ended with ${signal ?? code}`,
  }
}

/** Whether a program of the copy succeeds, and what it prints. */
export async function node(folder, args) {
  const options = { cwd: folder, timeout: LONGEST_RUN, killSignal: 'SIGKILL', maxBuffer: Infinity }
  const {
    stdout,
    code = 0,
    signal,
  } = await run(process.execPath, args.map(String), options).catch(error => error)
  return { stdout, code, signal }
}
