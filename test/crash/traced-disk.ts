import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { basename, join } from 'node:path'
import { createContent } from './content.js'
import type { Entry, File } from './simulated-disk.js'

/**
 * Runs a program under strace, and returns what it asked the disk to do with the files of its
 * folder. SQLite calls the disk by itself, so this is where its calls can be seen.
 *
 * @param names the files of the folder; what is written to `marks` becomes marks
 * @param failingSync the number of the sync that fails, from 1 on
 */
export function traceDisk<Mark>(
  folder: string,
  names: readonly string[],
  program: readonly string[],
  failingSync?: number,
): Entry<Mark>[] {
  const log = join(folder, '..', 'strace')
  const paths = [folder, ...['marks', ...names].map(name => join(folder, name))]
  const calls = 'openat,pwrite64,write,ftruncate,unlink,fsync,fdatasync'
  const { status, stderr } = spawnSync(
    'strace',
    // -xx writes every byte in hex, -y the path of every descriptor.
    ['-f', '-qq', '-xx', '-y', '-s', '2000000', '-o', log, '-e', `trace=${calls}`]
      .concat(failingSync ? ['-e', `inject=fsync,fdatasync:error=EIO:when=${failingSync}`] : [])
      .concat(paths.flatMap(path => ['-P', path]))
      .concat(process.execPath, program),
    { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`strace: ${stderr}`)
  return entriesOf(fs.readFileSync(log, 'utf8').split('\n'), folder)
}

function entriesOf<Mark>(lines: readonly string[], folder: string): Entry<Mark>[] {
  const files = new Map<string, File>()
  const entries: Entry<Mark>[] = []
  for (const line of lines) {
    const [, call, text = '', result] = /^\d+ +(\w+)\((.*)\) += (\d+|-1 EIO)/.exec(line) ?? []
    if (call === undefined) {
      if (/unfinished|resumed/.test(line))
        throw new Error(`Two threads at once: ${line.slice(0, 200)}`)
      continue
    }
    const [path = ''] = [...text.matchAll(/[<"]((?:\\x[0-9a-f]{2})+)[">]/g)]
      .map(([, hex = '']) => bytesOf(hex).toString())
      .filter(found => found === folder || found.startsWith(`${folder}/`))
    const name = `/data/${basename(path)}`
    const isFolder = path === folder
    if (path.endsWith('/marks')) {
      const [, hex] = /, "((?:\\x[0-9a-f]{2})+)"/.exec(text) ?? []
      if (call === 'write' && hex)
        entries.push({ kind: 'mark', mark: JSON.parse(String(bytesOf(hex))) })
      continue
    }
    if (call === 'openat') {
      if (isFolder || files.has(name) || !text.includes('O_CREAT')) continue
      const file = { number: BigInt(files.size), content: createContent() }
      files.set(name, file)
      entries.push({ kind: 'link', path: name, file })
      continue
    }
    if (call === 'unlink') {
      files.delete(name)
      entries.push({ kind: 'unlink', path: name })
      continue
    }
    const file = files.get(name)
    if (call === 'fsync' || call === 'fdatasync') {
      const kind = result === '-1 EIO' ? 'failed sync' : 'sync'
      if (isFolder) entries.push({ kind, target: '/data' })
      else if (file) entries.push({ kind, target: file })
    } else if (!file) throw new Error(`${call} of a file that was not opened: ${path}`)
    else if (call === 'ftruncate') {
      entries.push({ kind: 'truncate', file, length: Number(/(\d+)$/.exec(text)?.[1]) })
    } else if (call === 'pwrite64') {
      const [, hex = '', position] = /, "((?:\\x[0-9a-f]{2})*)", \d+, (\d+)$/.exec(text) ?? []
      entries.push({ kind: 'write', file, position: Number(position), bytes: bytesOf(hex) })
    }
  }
  return entries
}

/** The bytes of `\x53\x51`. */
function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
}
