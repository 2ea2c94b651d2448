import { isDeepStrictEqual } from 'node:util'
import { printable } from '../../src/lib/printable.js'
import { type Environment, type Keys, readInitial } from './environment.js'
import { checkKeys, readKeyFile } from './files.js'
import type { Notes } from './notes.js'
import type { StoreSettings } from './options.js'
import { versionsOf, watchFiles } from './watch.js'

export interface WatchedFiles {
  /**
   * Reloads a changed file into every environment. A file with an error changes nothing.
   *
   * @param keys what `--keys` held at the start
   * @returns stops watching
   */
  reloadInto(environments: readonly Environment[], keys: Keys): () => Promise<void>
}

/**
 * Begins to watch `--seed` and `--keys`.
 *
 * @param notes receive what has changed, or the error in the file
 */
export function watchedFiles(settings: StoreSettings, notes: Notes): WatchedFiles {
  const { seed, keys } = settings
  const before = versionsOf([seed, keys].filter(path => path !== undefined))
  return {
    reloadInto(environments, atStart) {
      let known = atStart
      let latest = Promise.resolve()
      return watchFiles(before, changed => {
        // One after the other: an older file must not overtake a newer one.
        latest = latest.then(async () => {
          if (changed.some(path => path === keys)) await logged(reloadKeys)
          if (changed.some(path => path === seed)) await logged(reloadSeed)
        })
      })

      async function reloadKeys(): Promise<string> {
        const next = await readKeysLeft(String(keys))
        for (const environment of environments) await environment.reload({ keys: next })
        const difference = differenceOf(known, next)
        known = next
        return `reloaded ${keys}: ${difference}`
      }

      async function reloadSeed(): Promise<string> {
        const initial = await readInitial(settings)
        for (const environment of environments) await environment.reload({ initial })
        return `reloaded ${seed}: ${initial.pets.pets.length} animals`
      }

      async function logged(reload: () => Promise<string>): Promise<void> {
        try {
          notes.say('reloaded', await reload())
        } catch (error) {
          const reason = printable((error as Error).message)
          notes.say('reload.failed', `${reason}; nothing was reloaded`)
        }
      }
    },
  }
}

/** Unlike at startup, there may be none, once the last key was revoked. @throws UsageError */
async function readKeysLeft(path: string): Promise<Keys> {
  return checkKeys(path, await readKeyFile(path))
}

/** By id, as keys are never shown: `added web, removed ci, changed load`. */
function differenceOf(before: Keys, after: Keys): string {
  const [old, current] = [recordsById(before), recordsById(after)]
  const added = [...current.keys()].filter(id => !old.has(id))
  const removed = [...old.keys()].filter(id => !current.has(id))
  const changed = [...current.keys()].filter(
    id => old.has(id) && !isDeepStrictEqual(old.get(id), current.get(id)),
  )
  const parts = Object.entries({ added, removed, changed })
    .filter(([, ids]) => ids.length > 0)
    .map(([what, ids]) => `${what} ${ids.map(printable).join(', ')}`)
  return parts.join('; ') || 'the same keys as before'
}

/** The keys of each id with their records. */
function recordsById(keys: Keys): Map<string, [key: string, record: unknown][]> {
  const byId = new Map<string, [string, unknown][]>()
  for (const [key, record] of Object.entries(keys)) {
    byId.set(record.id, [...(byId.get(record.id) ?? []), [key, record]])
  }
  return byId
}
