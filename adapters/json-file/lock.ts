import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Disk, isMissing } from './disk.js'
import { JsonFileError } from './json-file-error.js'

export interface Lock {
  /**
   * Whether it is still this process that holds it: whoever cannot see this process, from another
   * container say, may have taken it for dead.
   */
  isHeld(): boolean
  /** @throws JsonFileError when it is not */
  check(): void
  /** Takes it anew where its folder was removed. @throws JsonFileError when somebody else did */
  retake(): Promise<void>
  release(): Promise<void>
}

/**
 * A lock is a folder with one entry, whose name says who holds it. It appears and is taken over
 * by a rename, so of several processes exactly one gets it, and it never stands there empty.
 *
 * @throws JsonFileError naming the process that holds the lock of the file
 */
export async function takeLock(disk: Disk, path: string): Promise<Lock> {
  const lock = `${path}.lock`
  const own = [process.pid, startOf(process.pid) ?? '', randomBytes(6).toString('hex')].join('-')
  const entry = join(lock, own)

  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const holder = await findHolder()
    if (holder === undefined ? await create() : await takeOver(holder)) {
      await sweep().catch(() => {})
      return { isHeld, check, retake, release }
    }
  }
  throw new JsonFileError(path, `is being opened by others; ${lock} changes all the time`)

  async function findHolder(): Promise<string | undefined> {
    try {
      return (await disk.readdir(lock)).find(name => ENTRY.test(name))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async function create(): Promise<boolean> {
    const prepared = `${lock}.${own}`
    await disk.mkdir(prepared)
    try {
      await disk.close(await disk.open(join(prepared, own), 'wx'))
      await disk.rename(prepared, lock)
      return true
    } catch (error) {
      await discard(own)
      if (OCCUPIED.has((error as NodeJS.ErrnoException).code)) return false
      throw error
    }
  }

  async function discard(name: string): Promise<void> {
    await disk.unlink(join(`${lock}.${name}`, name)).catch(() => {})
    await disk.rmdir(`${lock}.${name}`).catch(() => {})
  }

  /** Removes what processes prepared that died before they had the lock. */
  async function sweep(): Promise<void> {
    const prefix = `${basename(lock)}.`
    for (const name of await disk.readdir(dirname(lock))) {
      const prepared = name.startsWith(prefix) ? name.slice(prefix.length) : ''
      if (ENTRY.test(prepared) && !isAlive(prepared)) await discard(prepared)
    }
  }

  async function takeOver(holder: string): Promise<boolean> {
    if (isAlive(holder)) {
      const pid = Number.parseInt(holder, 10)
      throw new JsonFileError(path, `is in use by the process ${pid}; stop that one first`)
    }
    try {
      await disk.rename(join(lock, holder), entry)
      return true
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
  }

  function isHeld(): boolean {
    return disk.existsSync(entry)
  }

  function check(): void {
    if (!isHeld()) throw new JsonFileError(path, 'was removed, or taken over by another process')
  }

  async function retake(): Promise<void> {
    if (!(await create())) check()
  }

  async function release(): Promise<void> {
    try {
      await disk.unlink(entry)
      await disk.rmdir(lock)
    } catch {
      // Taken over, or gone with its folder: nothing of it is this process's to remove. What stays
      // after a failure of the disk is the lock of a process that will soon be dead.
    }
  }
}

const ATTEMPTS = 100
const ENTRY = /^\d+-\d*-[0-9a-f]{12}$/
/** What systems answer to a rename onto a folder that is not empty. */
const OCCUPIED = new Set<string | undefined>(['ENOTEMPTY', 'EEXIST', 'EPERM'])

/** A pid is given again sooner or later, in a container at once; the start tells them apart. */
function isAlive(entry: string): boolean {
  const [pid, start] = entry.split('-') as [string, string]
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    // EPERM: there is one, of another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const startNow = startOf(Number(pid))
  return startNow === undefined || start === '' || startNow === start
}

/**
 * When a process started, in ticks since the boot (proc(5), `stat`); 'dead' when only its entry is
 * left. Undefined where the system does not tell.
 */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'dead' : fields[19]
  } catch {
    return undefined
  }
}
