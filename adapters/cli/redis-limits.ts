import { readFile } from 'node:fs/promises'
import type { ConnectionOptions } from 'node:tls'
import { duration, readValue } from './option.js'
import { UsageError } from './usage-error.js'

/** What follows the `?` in `--limits redis://…?timeout=250ms`. */
export interface RedisParameters {
  /** For the store. */
  readonly rateLimitTimeoutMs?: number
  readonly tls?: ConnectionOptions
}

const NAMES = ['timeout', 'ca']

/** The address before the first `?`, and what follows it. */
export function splitParameters(text: string): readonly [address: string, query: string] {
  const [address = '', ...query] = text.split('?')
  return [address, query.join('?')]
}

/** @throws UsageError without the query in it: it may be the rest of a password with a `?` */
export async function readParameters(address: string, query: string): Promise<RedisParameters> {
  const given = [...new URLSearchParams(query)]
  const names = given.map(([name]) => name)
  if (names.some((name, at) => !NAMES.includes(name) || names.indexOf(name) < at)) {
    throw unusable(
      `takes ${NAMES.join(', ')} after the ?, each once; write a ? in a password as %3F`,
    )
  }
  const { timeout, ca } = Object.fromEntries(given)
  if (ca !== undefined && !/^(rediss|valkeys):/.test(address)) {
    throw unusable('takes ca with rediss:// or valkeys:// only, which use TLS')
  }
  return {
    ...(timeout !== undefined && {
      rateLimitTimeoutMs: readValue(duration(), timeout, '--limits ?timeout'),
    }),
    ...(ca !== undefined && { tls: { ca: await readCertificate(ca) } }),
  }
}

async function readCertificate(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw unusable(`cannot read ca ${path}: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function unusable(problem: string): UsageError {
  return new UsageError(`--limits ${problem}`, '--limits')
}
