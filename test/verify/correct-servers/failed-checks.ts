import assert from 'node:assert/strict'
import { type VerifyOptions, verify } from '../../../adapters/verify/index.js'

export const KEY = 'Correct-key-1'

/** The failed checks, each with its level. */
export async function broken(options: Omit<VerifyOptions, 'apiKey'>): Promise<readonly string[]> {
  const { results } = await verify({ ...options, apiKey: KEY })
  return results.flatMap(({ id, level, failure }) => {
    if (!failure) return []
    if (id.startsWith('http.')) assert.match(failure.hint ?? '', /HTTP library .* --skip http\./)
    return [`${level} ${id}`]
  })
}
