import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { ifPresent, isMissing } from '../storage/missing-file.js'
import type { Disk } from './disk.js'
import { JsonFileError } from './json-file-error.js'

export interface Lock {
  /**
   * A folder that only the holder can reach: its path ends when another process takes the lock.
   * Every change to a shared name is a rename from here or to here, so it fails without the lock.
   */
  readonly folder: string
  /** False once a process that cannot see this one, such as one in another container, took over. */
  isHeld(): boolean
  /** @throws JsonFileError when the lock is lost */
  check(): void
  /** Takes the lock again after its folder was removed. @throws JsonFileError when it is taken */
  retake(): Promise<void>
  release(): Promise<void>
}

/**
 * A lock is a folder with one folder inside, whose name is its owner. It appears and changes hands
 * by a rename, so exactly one of several processes gets it.
 *
 * @throws JsonFileError naming the process that holds the lock
 */
export async function takeLock(disk: Disk, path: string): Promise<Lock> {
  const lock = `${path}.lock`
  const own = await nameOfOwner(disk)
  const folder = join(lock, own)

  for (let round = 0; round < ROUNDS; round++) {
    const holder = await findHolder()
    if (holder === undefined ? await create() : await takeOver(holder)) {
      await sweep().catch(() => {})
      return { folder, isHeld, check, retake, release }
    }
  }
  throw new JsonFileError(path, `is being opened by other processes; ${lock} keeps changing hands`)

  async function findHolder(): Promise<string | undefined> {
    const names = (await ifPresent(disk.readdir(lock))) ?? []
    const holder = names.find(name => OWNER.test(name))
    if (holder !== undefined || names.length === 0) return holder
    throw new JsonFileError(
      path,
      `cannot be locked: ${join(lock, names[0] as string)} is in the way; remove it`,
    )
  }

  async function create(): Promise<boolean> {
    const prepared = `${lock}.${own}`
    await disk.mkdir(prepared)
    try {
      await disk.mkdir(join(prepared, own))
      await disk.rename(prepared, lock)
      return true
    } catch (error) {
      await discard(own)
      if (OCCUPIED.has((error as NodeJS.ErrnoException).code)) return false
      throw error
    }
  }

  async function discard(name: string): Promise<void> {
    await disk.rmdir(join(`${lock}.${name}`, name)).catch(() => {})
    await disk.rmdir(`${lock}.${name}`).catch(() => {})
  }

  /** Removes what processes left that died before they had the lock. */
  async function sweep(): Promise<void> {
    const prefix = `${basename(lock)}.`
    for (const name of await disk.readdir(dirname(lock))) {
      const prepared = name.startsWith(prefix) ? name.slice(prefix.length) : ''
      if (OWNER.test(prepared) && !(await isAlive(disk, prepared))) await discard(prepared)
    }
  }

  async function takeOver(holder: string): Promise<boolean> {
    if (!FREED.has(holder) && (await isAlive(disk, holder))) {
      const pid = Number.parseInt(holder, 10)
      throw new JsonFileError(path, `is in use by process ${pid}; stop that process first`)
    }
    try {
      await disk.rename(join(lock, holder), folder)
    } catch (error) {
      if (isMissing(error)) return false
      throw error
    }
    try {
      await empty()
    } catch (error) {
      await release()
      throw error
    }
    return true
  }

  /** Removes unfinished files, also those of the previous holder. */
  async function empty(): Promise<void> {
    for (const name of await disk.readdir(folder)) await disk.unlink(join(folder, name))
  }

  function isHeld(): boolean {
    return disk.existsSync(folder)
  }

  function check(): void {
    if (isHeld()) return
    const fix = 'make sure that only one process uses the file, then restart this one'
    throw new JsonFileError(
      path,
      `has lost its lock: ${lock} was removed or taken over by another process; ${fix}`,
    )
  }

  async function retake(): Promise<void> {
    if (!(await create())) check()
  }

  async function release(): Promise<void> {
    try {
      await empty()
      await disk.rmdir(folder)
      await disk.rmdir(lock)
    } catch {
      // Either the lock is not this thread's to remove, or the disk failed: then the next opening
      // takes over the lock, elsewhere once this thread is dead.
      FREED.add(own)
    }
  }
}

/** Owners of this thread that could not remove their locks. */
const FREED = new Set<string>()
const ROUNDS = 100
/** Process, thread, start of the thread, and a random part. */
const OWNER = /^\d+-\d*-\d*-[0-9a-f]{12}$/
/** What systems answer to a rename onto a folder that is not empty. */
const OCCUPIED = new Set<string | undefined>(['ENOTEMPTY', 'EEXIST', 'EPERM'])

/** A thread and not only a process: a worker that was terminated frees its files. */
async function nameOfOwner(disk: Disk): Promise<string> {
  const [pid, thread] = threadOf(disk)
  const start = (await startOf(disk, pid, thread)) ?? ''
  return [pid, thread, start, randomBytes(6).toString('hex')].join('-')
}

/** Linux names the calling thread as `<pid>/task/<thread>` (proc(5), `/proc/thread-self`). */
function threadOf(disk: Disk): readonly [pid: string, thread: string] {
  try {
    const [pid, , thread] = disk.readlinkSync('/proc/thread-self').split('/')
    return [pid as string, thread as string]
  } catch {
    return [String(process.pid), '']
  }
}

/** Pids are reused, in containers right away; the start time distinguishes their processes. */
async function isAlive(disk: Disk, owner: string): Promise<boolean> {
  const [pid, thread, start] = owner.split('-') as [string, string, string]
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const startNow = await startOf(disk, pid, thread)
  return startNow === undefined || start === '' || startNow === start
}

/**
 * When a thread started, in ticks since boot (proc(5), `stat`); 'dead' when it has ended. Undefined
 * where the system does not provide it.
 */
async function startOf(disk: Disk, pid: string, thread: string): Promise<string | undefined> {
  try {
    const stat = (await disk.readFile(`/proc/${pid}/task/${thread}/stat`)).toString('latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'dead' : fields[19]
  } catch {
    return thread !== '' && disk.existsSync(`/proc/${pid}/stat`) ? 'dead' : undefined
  }
}
