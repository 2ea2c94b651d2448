import type { UsedKey } from '../../src/ports.js'
import { isUsedKey } from '../storage/used-keys.js'

/** A used key as a line of the document or the journal. */
export function keyToJson({ scope, key, fingerprint, expiresAt, petId }: UsedKey): string {
  return JSON.stringify({ scope, key, fingerprint, expiresAt, petId })
}

/** How every such line begins. */
export const KEY_START = '{"scope":'

/** Undefined for anything but such a line. */
export function parseKeyLine(line: string): UsedKey | undefined {
  if (!line.startsWith(KEY_START)) return undefined
  try {
    const used: unknown = JSON.parse(line)
    return isUsedKey(used) && keyToJson(used) === line ? used : undefined
  } catch {
    return undefined
  }
}
