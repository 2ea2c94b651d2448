import { type Disk, NODE_DISK } from '../../../adapters/stores/kit/disk.js'

/** A call to the disk, as `rename pets.json.tmp` or `fsync`. */
export type DiskCall = string

/** The real disk, which reports every call first. If `before` throws, the call fails with that. */
export function watchedDisk(before: (call: DiskCall) => void | Promise<void>): Disk {
  return new Proxy(NODE_DISK, {
    get(disk, name: keyof Disk) {
      if (name === 'pid') return disk.pid
      const call = disk[name] as (...given: unknown[]) => unknown
      return (...given: unknown[]) => {
        const [path] = given
        const waiting = before(
          typeof path === 'string' ? `${name} ${path.slice(path.lastIndexOf('/') + 1)}` : name,
        )
        return waiting instanceof Promise ? waiting.then(() => call(...given)) : call(...given)
      }
    },
  })
}

/** The error of a failed system call. */
export function diskError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: planted by a test`), { code })
}
