import { NODE_DISK } from '../kit/disk.js'
import { realPathOf } from '../kit/durable-files.js'
import type { OpenedStorage } from '../kit/durable-storage.js'
import type { JsonFileError } from './json-file-error.js'

export type Report = (error: JsonFileError) => void

interface Shared {
  readonly storage: Promise<OpenedStorage>
  readonly reports: Set<Report>
  closing?: Promise<void>
}

// Bundlers and hot reloads evaluate this module again. The number changes with these types, as a
// process may load several releases.
const KEY: unique symbol = Symbol.for('animal-adoption-store.json-files.1')
const realm: typeof globalThis & { [KEY]?: Map<string, Shared> } = globalThis
realm[KEY] ??= new Map()
const FILES = realm[KEY]

/** Opens a file unless this process has it open, and closes it with its last user. */
export async function openShared(
  path: string,
  open: (report: Report) => Promise<OpenedStorage>,
  report: Report,
): Promise<OpenedStorage> {
  // `open` refuses an invalid path.
  const real = await realPathOf(NODE_DISK, path, Error).catch(() => path)
  const found = FILES.get(real)
  if (found && !(await isUsable(found))) forget(found)
  const file = FILES.get(real) ?? add()
  file.reports.add(report)
  const storage = await file.storage
  return {
    ...storage,
    async close() {
      file.reports.delete(report)
      if (file.reports.size > 0) return
      file.closing = storage.close().finally(() => forget(file))
      await file.closing
    },
  }

  function add(): Shared {
    const reports = new Set<Report>()
    const reportAll: Report = error => {
      for (const report of reports) report(error)
    }
    const added = { storage: open(reportAll), reports }
    FILES.set(real, added)
    return added
  }

  function forget(file: Shared): void {
    if (FILES.get(real) === file) FILES.delete(real)
  }
}

async function isUsable({ storage, closing }: Shared): Promise<boolean> {
  try {
    await closing
    await (await storage).ping()
    return !closing
  } catch {
    return false
  }
}
