/** What tells files of one machine apart, as `stat` gives it. */
interface FileId {
  readonly dev: number | bigint
  readonly ino: number | bigint
}

export function isSameFile(found: FileId | undefined, known: FileId): boolean {
  return found?.ino === known.ino && found.dev === known.dev
}

/** The reason why a file is not used: what is written to it would be gone with this process. */
export const MOVED = 'was moved, removed or replaced while open; put it back, or restart'
