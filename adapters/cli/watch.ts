import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** An editor saves in several steps; the file is read once they are done. */
const SETTLED = 100

/**
 * Calls back when one of the files has changed. It watches their folders, because many programs
 * replace a file instead of writing to it.
 *
 * @returns stops watching
 */
export function watchFiles(paths: readonly string[], onChange: () => void): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const watchers = paths.map(path => watchFile(path, changed))
  return async () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }

  function changed(): void {
    clearTimeout(timer)
    timer = setTimeout(onChange, SETTLED)
  }
}

function watchFile(path: string, changed: () => void): FSWatcher {
  return watch(dirname(path), (_event, name) => {
    if (name === basename(path)) changed()
  })
}
