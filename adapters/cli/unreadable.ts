import { LOOP } from '../storage/files.js'

/** What is wrong with a file that cannot be read, after its name. */
export function unreadable(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException
  return UNREADABLE[code] ?? `cannot be read: ${code}`
}

const UNREADABLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  ELOOP: LOOP,
  EISDIR: 'is a folder; name a file in it',
  EACCES: 'is not readable; change its permissions',
}
