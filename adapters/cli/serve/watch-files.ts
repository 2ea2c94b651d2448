import { unwatchFile, watchFile } from 'node:fs'
import { isatty } from 'node:tty'
import { printable } from '../../../src/lib/printable.js'
import type { ServeSettings } from '../options.js'
import { checkKeys, type KeyFile, readKeyFile } from '../seed-and-keys-files.js'
import type { Notes } from './request-log.js'
import { type Environment, readInitial } from './served-store.js'

/** Polling interval, in ms. */
const INTERVAL = 200

/**
 * Polls, because the system's watchers miss a replaced folder, and a symbolic link with another
 * target, as in ConfigMaps and Secrets of Kubernetes. On SIGHUP, a server in a terminal ends.
 * @param notes receive the changes, or the error in a file, which then changes nothing
 */
export function watchFiles(settings: ServeSettings, notes: Notes) {
  const { keys, seed, watch } = settings
  let known: KeyFile | undefined
  let environments: readonly Environment[] = []
  let begin = () => {}
  let latest = new Promise<void>(resolve => {
    begin = resolve
  })
  const onKeys = on(keys, reloadKeys)
  const watched = [onKeys, on(seed === 'edge' ? undefined : seed, reloadSeed)]
  if (keys !== undefined && ![0, 1, 2].some(isatty)) process.on('SIGHUP', onKeys.listener)
  return {
    /** Reloads changes into these stores, including those since the watching began. */
    reloadInto(opened: readonly Environment[]): void {
      environments = opened
      begin()
    },
    async stop(): Promise<void> {
      process.off('SIGHUP', onKeys.listener)
      for (const { path, listener } of watched) if (path) unwatchFile(path, listener)
    },
  }

  function on(path: string | undefined, reload: (path: string) => Promise<string>) {
    const listener = () => {
      // One after the other: an older file must not overtake a newer one.
      latest = latest
        .then(() => reload(String(path)))
        .then(
          done => notes.say('reloaded', `reloaded ${path}: ${done}`),
          error => notes.say('reload.failed', `${printable(error.message)}; nothing was reloaded`),
        )
    }
    if (path && watch) watchFile(path, { interval: INTERVAL }, listener)
    return { path, listener }
  }

  async function reloadKeys(path: string): Promise<string> {
    known ??= new Map(Object.entries(environments[0]?.console.apiKeys() ?? {}))
    // After startup, an empty file is valid: the last key may have been revoked.
    const next = await checkKeys(path, await readKeyFile(path), known)
    const difference = differenceOf(known, next)
    if (difference === '') return 'the same keys as before'
    for (const environment of environments) await environment.reload?.({ keys: next })
    known = next
    return difference
  }

  async function reloadSeed(): Promise<string> {
    const initial = await readInitial(settings)
    for (const environment of environments) await environment.reload?.({ initial })
    return `${initial.snapshot.pets.length} animals`
  }
}

/** Names ids, as keys are never shown: `added web, removed ci`. Empty if nothing changed. */
function differenceOf(before: KeyFile, after: KeyFile): string {
  const difference = { added: [] as string[], removed: [] as string[], changed: [] as string[] }
  for (const [key, record] of after) {
    if (before.get(key) === record) continue
    difference[before.has(key) ? 'changed' : 'added'].push(printable(record.id))
  }
  for (const [key, { id }] of before) if (!after.has(key)) difference.removed.push(printable(id))
  const parts = Object.entries(difference).filter(([, ids]) => ids.length > 0)
  return parts.map(([what, ids]) => `${what} ${listed(ids)}`).join('; ')
}

function listed(ids: readonly string[]): string {
  const more = ids.length - MOST_LISTED
  const named = ids.slice(0, MOST_LISTED).join(', ')
  return more > 0 ? `${named} and ${more.toLocaleString('en')} more` : named
}

const MOST_LISTED = 5
