import { lstat, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { toJUnit } from '../verdict/junit-xml.js'
import type { CommandLine } from './command-line.js'
import type { UnfinishedFile } from './exec/report-file.js'
import { prettyJson } from './read-and-write-files.js'

/** Removes the files of an earlier run, which would look like those of this one; devices stay. */
export async function removeResults({ given }: CommandLine): Promise<void> {
  for (const path of [given.get('report'), given.get('junit')]) {
    const isFile = path && (await lstat(path).catch(() => undefined))?.isFile()
    if (isFile) await rm(path).catch(() => {})
  }
}

/** Writes why a run ended without a result to the files that have none. */
export async function writeUnfinished(
  { command, given, last }: CommandLine,
  problem: string,
): Promise<void> {
  const report: UnfinishedFile = { version: 1, command: last, ok: false, problem }
  const failed = { group: command, name: 'a result', failure: { message: problem } }
  const files = {
    report: prettyJson(report),
    junit: toJUnit(`animal-adoption-store ${command}`, [failed]),
  }
  for (const [name, text] of Object.entries(files)) {
    const path = given.get(name)
    if (path === undefined) continue
    const ready = mkdir(dirname(path), { recursive: true })
    // The message about this failure is on stderr already.
    await ready.then(() => writeFile(path, text, { flag: 'wx' })).catch(() => {})
  }
}
