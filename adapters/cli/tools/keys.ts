import { randomBytes } from 'node:crypto'
import { basename } from 'node:path'
import { toJson } from '../../../src/lib/json.js'
import { printable } from '../../../src/lib/printable.js'
import { type ApiKey, DIGEST } from '../../../src/protocol/api-keys.js'
import { NODE_DISK } from '../../stores/kit/disk.js'
import { ifPresent, realPathOf, replaceFile, syncFolder } from '../../stores/kit/durable-files.js'
import type { Call } from '../commands.js'
import { flagOf, KEYS, type KeysSettings } from '../options.js'
import { note, print } from '../print.js'
import { readBytes } from '../read-and-write-files.js'
import { checkKeys, type KeyFile, readKeyFile, sha256 } from '../seed-and-keys-files.js'
import { UsageError, withoutSecrets } from '../usage-error.js'

export async function main(settings: KeysSettings, { operands }: Call): Promise<void> {
  const [action, path = '', name] = operands
  const unfit = (Object.keys(KEYS) as (keyof KeysSettings)[]).find(option => settings[option])
  if (unfit !== undefined && (action === 'list' || action === 'revoke')) {
    throw new UsageError(`${flagOf(unfit)} works with keys new only`)
  }
  if (action === 'new' && name === undefined) return newKey(path, settings)
  if (action === 'list' && name === undefined) return list(path)
  if (action === 'revoke' && name !== undefined) return revoke(path, name)
  throw new UsageError(
    'Expected keys new <file>, keys list <file> or keys revoke <file> <id>; see keys --help',
  )
}

async function newKey(path: string, settings: KeysSettings): Promise<void> {
  const { id, plan, expiresAt, perMinute, perDay } = settings
  if (id === undefined || plan === undefined) {
    throw new UsageError('keys new needs an owner and a plan: --id <id> --plan <plan>')
  }
  if (plan === 'enterprise' && (perMinute === undefined || perDay === undefined)) {
    throw new UsageError('a key of enterprise needs its limits: --per-minute <n> --per-day <n>')
  }
  const hasLimits = perMinute !== undefined || perDay !== undefined
  // With 256 random bits nobody can guess the key, so a plain digest suffices.
  const key = randomBytes(32).toString('base64url')
  const record = {
    ...{ id, plan },
    // The limits are checked with the whole file, before it is written.
    ...(hasLimits && { limits: { perMinute: perMinute as number, perDay: perDay as number } }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  }
  await changeFile(path, keys => new Map(keys).set(`${DIGEST}${sha256(key)}`, record as ApiKey))
  print(`${key}\n`)
  note(`added a key of '${id}' to ${path}; it is shown only once; the file keeps its SHA-256`)
}

async function list(path: string): Promise<void> {
  const rows = [...(await readChecked(path))].map(([key, { id, plan, expiresAt }]) => [
    printable(id),
    plan,
    expiresAt === undefined ? 'never expires' : `expires ${expiresAt}`,
    digestOf(key).slice(0, SHOWN),
    key.startsWith(DIGEST) ? 'by digest' : 'in plain text',
  ])
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map(row => row[at]?.length ?? 0))) ?? []
  for (const row of rows) {
    const cells = row.map((cell, at) => cell.padEnd(widths[at] ?? 0))
    print(`${cells.join('  ').trimEnd()}\n`)
  }
}

/** Digits of a digest that `list` shows, enough to identify one of a billion keys. */
const SHOWN = 16

async function revoke(path: string, name: string): Promise<void> {
  let revoked = ''
  // Throws a clear error for a missing file.
  await readBytes(path, '--keys')
  await changeFile(path, keys => {
    const [entry, ...others] = [...keys].filter(
      ([key, { id }]) => id === name || (name.length >= 4 && digestOf(key).startsWith(name)),
    )
    // The argument is not shown: it may be the key itself.
    if (!entry) {
      throw new UsageError(`${path} has no key with that id or digest; see keys list ${path}`)
    }
    if (others.length > 0) {
      const digests = [entry, ...others].map(([key]) => digestOf(key).slice(0, SHOWN))
      const message = `'${name}' has ${digests.length} keys; name one by its digest`
      throw new UsageError(`${message}: ${digests.join(', ')}`)
    }
    revoked = entry[1].id
    return new Map([...keys].filter(([key]) => key !== entry[0]))
  })
  note(`revoked the key of '${revoked}' in ${path}`)
}

async function readChecked(path: string): Promise<KeyFile> {
  const keys = await readKeyFile(path)
  await checkKeys(path, keys)
  return keys
}

function digestOf(key: string): string {
  return key.startsWith(DIGEST) ? key.slice(DIGEST.length) : sha256(key)
}

/**
 * Replaces the file atomically: a server reads either the old keys or the new ones. The new file
 * beside it is also the lock, so that concurrent changes cannot lose one.
 */
async function changeFile(path: string, change: (keys: KeyFile) => KeyFile): Promise<void> {
  const target = await realPathOf(
    NODE_DISK,
    path,
    reason => new UsageError([path, reason].map(withoutSecrets).join(' ')),
  )
  const temporary = `${target}.new`
  const isNew = !(await ifPresent(NODE_DISK.stat(target, { bigint: true })))
  const content = async () => {
    const keys = change(isNew ? new Map() : await readChecked(path))
    await checkKeys(path, keys)
    const lines = [...keys].map(([key, record]) => `${toJson(key)}: ${toJson(record)}`)
    return [`{\n  ${lines.join(',\n  ')}\n}\n`]
  }
  const replacement = { temporary, flags: 'wx', mode: 0o600, content } as const
  await replaceFile(NODE_DISK, target, replacement).catch(error => {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (syscall !== 'open') throw error
    throw new UsageError(
      code === 'EEXIST'
        ? `another process is changing ${path}; if none is, remove ${basename(temporary)} beside it`
        : `${path} cannot be changed: ${code}; can you write to its folder?`,
    )
  })
  await syncFolder(NODE_DISK, target)
}
