import { basename, dirname } from 'node:path'
import { type Content, createContent } from './content.js'
import type { Random } from './random.js'
import type { Entry, File } from './simulated-disk.js'

/** The files of a folder by name. */
export type State = Readonly<Record<string, Buffer>>

/**
 * The states in which POSIX allows a power cut to leave the folder `/data` after these entries, in the manner of
 * ALICE (Pillai et al., OSDI 2014). What was synced is there. Of the rest, any part may be: every
 * 512 bytes of a write, the new length of a file, every created, renamed or removed name. All
 * combinations while there are few, otherwise a random choice of them.
 *
 * @param limit how many combinations are few
 */
export function* statesAfter(
  entries: readonly Entry<unknown>[],
  random: Random,
  limit: number,
): Generator<State> {
  const changes = changesOf(entries)
  const open = changes.filter(({ isDurable }) => !isDurable)
  const isFew = 2 ** open.length <= limit
  for (let number = 0; number < (isFew ? 2 ** open.length : limit); number++) {
    const chosen = new Set(
      // Nothing, everything, and then any part.
      open.filter((_, at) => (isFew ? number & (2 ** at) : number < 2 ? number : random(2))),
    )
    yield apply(changes.filter(change => change.isDurable || chosen.has(change)))
  }
}

/** A part of an entry that happens as a whole or not at all. */
interface Change {
  readonly part: Part
  readonly isDurable: boolean
}

type Part =
  | Exclude<Entry<unknown>, { kind: 'sync' | 'failed sync' | 'mark' }>
  | { readonly kind: 'extend'; readonly file: File; readonly length: number }

const SECTOR = 512

function changesOf(entries: readonly Entry<unknown>[]): Change[] {
  const synced = new Set<File | string>()
  const changes: Change[][] = []
  for (const entry of entries.toReversed()) {
    if (entry.kind === 'mark') continue
    if (entry.kind === 'sync') {
      synced.add(entry.target)
      continue
    }
    if (entry.kind === 'failed sync') {
      synced.delete(entry.target)
      continue
    }
    const targets = targetsOf(entry)
    // Names outside the folder say nothing about it; they hold files that are not yet in it.
    if (targets.length === 0) continue
    const isDurable = targets.some(target => synced.has(target))
    changes.push(partsOf(entry).map(part => ({ part, isDurable })))
  }
  return changes.reverse().flat()
}

/** A sync of one of these makes it durable; a rename happens in both of its folders or in none. */
function targetsOf(entry: Exclude<Part, { kind: 'extend' }>): (File | string)[] {
  if (entry.kind === 'write' || entry.kind === 'truncate') return [entry.file]
  const paths = entry.kind === 'rename' ? [entry.from, entry.to] : [entry.path]
  return paths.map(path => dirname(path)).filter(folder => folder === '/data')
}

function partsOf(entry: Exclude<Part, { kind: 'extend' }>): Part[] {
  if (entry.kind !== 'write') return [entry]
  const { file, position, bytes } = entry
  const end = position + bytes.length
  const parts: Part[] = [{ kind: 'extend', file, length: end }]
  for (let start = position; start < end; ) {
    const next = Math.min(end, (Math.floor(start / SECTOR) + 1) * SECTOR)
    const part = bytes.subarray(start - position, next - position)
    parts.push({ kind: 'write', file, position: start, bytes: part })
    start = next
  }
  return parts
}

function apply(changes: readonly Change[]): State {
  const names = new Map<string, File>()
  const contents = new Map<File, Content>()
  const contentOf = (file: File) => {
    const content = contents.get(file) ?? createContent()
    contents.set(file, content)
    return content
  }
  for (const { part } of changes) {
    if (part.kind === 'write') contentOf(part.file).write(part.position, part.bytes)
    else if (part.kind === 'extend') {
      const content = contentOf(part.file)
      content.resize(Math.max(content.bytes().length, part.length))
    } else if (part.kind === 'truncate') contentOf(part.file).resize(part.length)
    else if (part.kind === 'rename') {
      names.delete(part.from)
      names.set(part.to, part.file)
    } else if (part.kind === 'link') names.set(part.path, part.file)
    else names.delete(part.path)
  }
  const visible = [...names].filter(([path]) => dirname(path) === '/data')
  return Object.fromEntries(
    visible.map(([path, file]) => [basename(path), contentOf(file).bytes()]),
  )
}
