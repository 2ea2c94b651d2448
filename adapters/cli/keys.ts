import { randomBytes } from 'node:crypto'
import { type FileHandle, open, realpath, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { toJson } from '../../src/lib/json.js'
import { printable } from '../../src/lib/printable.js'
import { DIGEST } from '../../src/protocol/api-keys.js'
import { ifPresent } from '../storage/files.js'
import { checkKeys, type KeyFile, readKeyFile, sha256 } from './files.js'
import { flagOf } from './option.js'
import { KEYS, type KeysSettings } from './options.js'
import { unreadable } from './unreadable.js'
import { UsageError } from './usage-error.js'
import { withoutUrl } from './without-secrets.js'

/** How the command was called. */
interface KeysCall {
  readonly operands: readonly string[]
  /** The options that were given. */
  readonly given: ReadonlyMap<string, string>
  /** Writes to stdout, and rejects where that fails. */
  write(text: string): Promise<void>
}

/**
 * `keys new|list|revoke <file>`: manages a file for `--keys`. A new key is printed once; the file
 * keeps only its SHA-256.
 *
 * @throws UsageError
 */
export async function keysCommand(settings: KeysSettings, call: KeysCall): Promise<void> {
  const [action, path = '', name] = call.operands
  const unfit = Object.keys(KEYS).find(option => call.given.has(option))
  if (unfit !== undefined && (action === 'list' || action === 'revoke')) {
    throw new UsageError(`${flagOf(unfit)} works with keys new only`)
  }
  if (action === 'new' && name === undefined) return newKey(path, settings, call)
  if (action === 'list' && name === undefined) return list(path)
  if (action === 'revoke' && name !== undefined) return revoke(path, name)
  throw new UsageError(
    'Expected keys new <file>, keys list <file> or keys revoke <file> <id>; see keys --help',
  )
}

async function newKey(path: string, settings: KeysSettings, { write }: KeysCall): Promise<void> {
  const { id, plan, expires, perMinute, perDay } = settings
  if (id === undefined || plan === undefined) {
    throw new UsageError('keys new needs an owner and a plan: --id <id> --plan <plan>')
  }
  if (plan === 'enterprise' && (perMinute === undefined || perDay === undefined)) {
    throw new UsageError('a key of enterprise needs its limits: --per-minute <n> --per-day <n>')
  }
  const hasLimits = perMinute !== undefined || perDay !== undefined
  // 256 random bits: nobody guesses it, so a plain digest keeps it safe.
  const key = randomBytes(32).toString('base64url')
  // Checked with the whole file, before it is written.
  const limits = { perMinute: perMinute as number, perDay: perDay as number }
  const record = { id, plan, ...(hasLimits && { limits }), ...(expires && { expires }) }
  await changeFile(
    path,
    keys => ({ ...keys, [`${DIGEST}${sha256(key)}`]: record }),
    async () => {
      await write(`${key}\n`).catch((error: NodeJS.ErrnoException) => {
        throw new Error(`the key cannot be printed: ${error.code}; nothing was added to ${path}`)
      })
    },
  )
  note(`added a key of '${id}' to ${path}; it is shown only once; the file keeps its SHA-256`)
}

async function list(path: string): Promise<void> {
  const rows = Object.entries(await readChecked(path)).map(([key, { id, plan, expires }]) => [
    printable(id),
    plan,
    expires === undefined ? 'never expires' : `expires ${expires}`,
    digestOf(key).slice(0, SHOWN),
    key.startsWith(DIGEST) ? 'by digest' : 'in plain text',
  ])
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0))) ?? []
  for (const row of rows) {
    print(
      `${row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join('  ')
        .trimEnd()}\n`,
    )
  }
}

/** Digits of a digest that `list` shows: enough to name one of a billion keys. */
const SHOWN = 16

async function revoke(path: string, name: string): Promise<void> {
  let revoked = ''
  await changeFile(path, keys => {
    const found = Object.entries(keys).filter(
      ([key, { id }]) => id === name || (name.length >= 4 && digestOf(key).startsWith(name)),
    )
    const [entry, second] = found
    // Not shown: it may be the key itself.
    if (!entry) {
      throw new UsageError(`${path} has no key with that id or digest; see keys list ${path}`)
    }
    if (second) {
      const digests = found.map(([key]) => digestOf(key).slice(0, SHOWN)).join(', ')
      throw new UsageError(`'${name}' has ${found.length} keys; name one by its digest: ${digests}`)
    }
    revoked = entry[1].id
    const { [entry[0]]: _, ...others } = keys
    return others
  })
  note(`revoked the key of '${revoked}' in ${path}`)
}

/** @throws UsageError */
async function readChecked(path: string): Promise<KeyFile> {
  const keys = await readKeyFile(path)
  checkKeys(path, keys)
  return keys
}

function digestOf(key: string): string {
  return key.startsWith(DIGEST) ? key.slice(DIGEST.length) : sha256(key)
}

/**
 * Replaces the file in one step: a server that reads it sees the old keys or the new ones. The new
 * file beside it is also the lock, so that two changes at a time cannot lose one.
 *
 * @param beforeReplace where it fails, the file stays as it is
 */
async function changeFile(
  path: string,
  change: (keys: KeyFile) => KeyFile,
  beforeReplace = async () => {},
): Promise<void> {
  // A symbolic link stays one.
  const target = (await lookUp(path, realpath(path))) ?? path
  const temporary = `${target}.new`
  const file = await create(temporary, path)
  try {
    const before = await lookUp(path, stat(target))
    const keys = change(before ? await readChecked(path) : {})
    checkKeys(path, keys)
    const lines = Object.entries(keys).map(([key, record]) => `${toJson(key)}: ${toJson(record)}`)
    await file.chmod(before ? before.mode & 0o777 : 0o600)
    await file.writeFile(`{\n  ${lines.join(',\n  ')}\n}\n`)
    await file.sync()
    await file.close()
    await beforeReplace()
    await rename(temporary, target)
  } catch (error) {
    await file.close().catch(() => {})
    await unlink(temporary).catch(() => {})
    throw error
  }
  await syncFolder(dirname(target))
}

/**
 * The answer, or undefined when there is no such file. Any other failure says nothing about its content,
 * which would be replaced.
 *
 * @throws UsageError
 */
function lookUp<T>(path: string, call: Promise<T>): Promise<T | undefined> {
  return ifPresent(call).catch(error => {
    // Without its folder, it cannot be created.
    if (error.code === 'ENOTDIR') return undefined
    throw new UsageError(`--keys ${withoutUrl(path)} ${unreadable(error)}`, '--keys')
  })
}

async function create(temporary: string, path: string): Promise<FileHandle> {
  try {
    return await open(temporary, 'wx', 0o600)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(
      code === 'EEXIST'
        ? `another process is changing ${path}; if none is, remove ${basename(temporary)} beside it`
        : `${withoutUrl(path)} cannot be changed: ${code}; does its folder exist, and can you write to it?`,
    )
  }
}

async function syncFolder(path: string): Promise<void> {
  // Windows opens no folders.
  const folder = await open(path).catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}

function print(text: string): void {
  process.stdout.write(text)
}

function note(text: string): void {
  process.stderr.write(`animal-adoption-store: ${printable(text)}\n`)
}
