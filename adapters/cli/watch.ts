import { statSync } from 'node:fs'

/** How often the files are checked, in ms. */
const INTERVAL = 200

/** What tells one version of each file from the next, by path. */
export type FileVersions = ReadonlyMap<string, string>

export function versionsOf(paths: readonly string[]): FileVersions {
  return new Map(paths.map(path => [path, versionOf(path)]))
}

/**
 * Calls back with the files that have changed since `before`, once each has kept still for one
 * interval: an editor saves in several steps. It polls, because watchers of the system follow a
 * folder: they miss a symbolic link whose target is swapped, as Kubernetes does for mounted
 * ConfigMaps and Secrets, and a folder that is removed and made again.
 *
 * @returns stops watching
 */
export function watchFiles(
  before: FileVersions,
  onChange: (paths: readonly string[]) => void,
): () => Promise<void> {
  const reported = new Map(before)
  let previous = before
  const timer = setInterval(check, INTERVAL)
  return async () => clearInterval(timer)

  function check(): void {
    const current = versionsOf([...before.keys()])
    const changed = [...current].filter(
      ([path, version]) => version !== reported.get(path) && version === previous.get(path),
    )
    previous = current
    if (changed.length === 0) return
    for (const [path, version] of changed) reported.set(path, version)
    onChange(changed.map(([path]) => path))
  }
}

/** Follows symbolic links. */
function versionOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ')
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  }
}
