import { brotliDecompressSync, unzipSync } from 'node:zlib'

/** An Error body is far shorter, however well it compresses. */
const LONGEST = { maxOutputLength: 1_048_576 }

/** Reads a body as text; undefined when its encoding cannot be read. */
export function decoderFor(encoding = 'identity'): (bytes: Uint8Array) => string | undefined {
  const name = encoding.trim().toLowerCase()
  const decompress = name === 'br' ? brotliDecompressSync : unzipSync
  return bytes => {
    try {
      return new TextDecoder().decode(name === 'identity' ? bytes : decompress(bytes, LONGEST))
    } catch {
      return undefined
    }
  }
}
