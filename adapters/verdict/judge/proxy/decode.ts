import { brotliDecompressSync, unzipSync } from 'node:zlib'

/** An Error body is far shorter, however well it compresses. */
const LONGEST = { maxOutputLength: 1_048_576 }

/** Reads a body as text; undefined when its encoding cannot be read. */
export function decoderFor(encoding = 'identity'): (bytes: Uint8Array) => string | undefined {
  const decode = DECODERS.get(encoding.trim().toLowerCase()) ?? (bytes => unzipSync(bytes, LONGEST))
  return bytes => {
    try {
      return new TextDecoder().decode(decode(bytes))
    } catch {
      return undefined
    }
  }
}

const DECODERS = new Map<string, (bytes: Uint8Array) => Uint8Array>([
  ['identity', bytes => bytes],
  ['br', bytes => brotliDecompressSync(bytes, LONGEST)],
])
