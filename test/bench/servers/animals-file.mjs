import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { animals } from '../harness/workload.mjs'

/** A file as json-server serves it, of 1,000 animals. */
export function writeAnimalsFile(format = pet => pet) {
  const file = join(mkdtempSync(join(tmpdir(), 'bench-')), 'db.json')
  writeFileSync(file, JSON.stringify({ pets: animals(1_000).map(format) }))
  return file
}

/** json-server has no base path, and another name for the page size. */
export function toJsonServerPath(url) {
  return url.replace('/v1', '').replace('limit=', '_limit=')
}
