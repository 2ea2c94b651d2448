import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Disk } from '../kit/disk.js'
import { ifPresent, isSameFile } from '../kit/durable-files.js'
import { JsonFileError } from './json-file-error.js'

export type Lock = Awaited<ReturnType<typeof takeLock>>

/**
 * Locks by a folder with a folder of its owner in it. The lock appears by a rename, and goes to
 * whoever removes the folder of a dead owner, so exactly one process gets it.
 */
export async function takeLock(disk: Disk, path: string) {
  const lock = `${path}.lock`
  const own = [disk.pid, await startOf(disk, disk.pid), randomBytes(6).toString('hex')].join('-')
  /** Its path ends when another process takes the lock. */
  const folder = join(lock, own)
  let held: number | undefined

  for (let round = 0; round < ROUNDS; round++) {
    const owners = (await ifPresent(disk.readdir(lock))) ?? []
    if (owners.length === 0 ? await create() : await takeOver(owners)) {
      await hold()
      return { folder, check, release }
    }
  }
  throw new JsonFileError(path, `is being opened by other processes; ${lock} keeps changing hands`)

  async function create(): Promise<boolean> {
    const prepared = `${lock}.${own}`
    await disk.mkdir(prepared)
    try {
      await disk.mkdir(join(prepared, own))
      await disk.rename(prepared, lock)
      return true
    } catch (error) {
      await disk.rmdir(join(prepared, own)).catch(() => {})
      await disk.rmdir(prepared).catch(() => {})
      if (OCCUPIED.has((error as NodeJS.ErrnoException).code)) return false
      throw error
    }
  }

  /** Avoids renaming a folder, because overlayfs answers EXDEV for one that is in an image. */
  async function takeOver(owners: readonly string[]): Promise<boolean> {
    for (const owner of owners) await refuseAlive(owner)
    try {
      await disk.mkdir(folder)
      for (const owner of owners) await remove(join(lock, owner))
      return true
    } catch (error) {
      await release()
      if (FASTER.has((error as NodeJS.ErrnoException).code)) return false
      throw error
    }
  }

  async function refuseAlive(owner: string): Promise<void> {
    if (!OWNER.test(owner)) {
      const fix = `cannot be locked: ${join(lock, owner)} is in the way; remove it`
      throw new JsonFileError(path, fix)
    }
    if (UNRELEASED.has(owner) || !(await isAlive(disk, owner))) return
    const pid = Number.parseInt(owner, 10)
    if (pid !== disk.pid) {
      throw new JsonFileError(path, `is in use by process ${pid}; stop that process first`)
    }
    if (await hasEnded(owner)) return
    const fix = 'close it there, or open it with neither `disk` nor `whenIdle` to share it'
    throw new JsonFileError(path, `is in use by this process, perhaps in another thread; ${fix}`)
  }

  /** A thread that ends closes its files, of which `hold` left the number. */
  async function hasEnded(owner: string): Promise<boolean> {
    const names = await ifPresent(disk.readdir(join(lock, owner)))
    const [name = ''] = names?.filter(name => name.startsWith(HELD)) ?? []
    const known = await ifPresent(disk.stat(join(lock, owner, name), { bigint: true }))
    const file = Number(name.slice(HELD.length))
    const found = await disk.fstat(file, { bigint: true }).catch(() => undefined)
    return name !== '' && known !== undefined && !isSameFile(found, known)
  }

  async function hold(): Promise<void> {
    const path = join(folder, HELD)
    try {
      held = await disk.open(path, 'w')
      await disk.rename(path, path + held)
    } catch (error) {
      await release()
      throw error
    }
  }

  async function remove(folder: string): Promise<void> {
    for (const name of await disk.readdir(folder)) await disk.unlink(join(folder, name))
    await disk.rmdir(folder)
  }

  function check(): void {
    if (disk.existsSync(folder)) return
    const fix = 'make sure that only one process uses the file, then restart this one'
    throw new JsonFileError(
      path,
      `has lost its lock: ${lock} was removed or taken over by another process; ${fix}`,
    )
  }

  async function release(): Promise<void> {
    try {
      if (held !== undefined) await disk.close(held)
      held = undefined
      await remove(folder)
      await disk.rmdir(lock)
    } catch {
      // Either the lock is lost, or the disk failed: then the next opening takes it over.
      UNRELEASED.add(own)
    }
  }
}

/** Owners of this process that could not remove their locks. */
const UNRELEASED = new Set<string>()
const ROUNDS = 100
const HELD = 'held-by-file-'
/** Process id, its start, and a random part. */
const OWNER = /^\d+-\d*-[0-9a-f]{12}$/
/** Renaming onto a folder that is not empty. */
const OCCUPIED = new Set<string | undefined>(['ENOTEMPTY', 'EEXIST', 'EPERM'])
/** Another process has taken the lock over, or still uses it. */
const FASTER = new Set<string | undefined>(['ENOENT', 'ENOTEMPTY', 'EEXIST'])

/** Pids are reused, in containers right away; the start time distinguishes their processes. */
async function isAlive(disk: Disk, owner: string): Promise<boolean> {
  const [pid = '', start] = owner.split('-')
  try {
    process.kill(Number(pid), 0)
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
  }
  const startNow = await startOf(disk, Number(pid))
  return start === '' || startNow === '' || startNow === start
}

/** In ticks since boot (proc(5), `stat`); empty where unknown. */
async function startOf(disk: Disk, pid: number): Promise<string> {
  try {
    const stat = (await disk.readFile(`/proc/${pid}/stat`)).toString('latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
  } catch {
    return ''
  }
}
