import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'

/** An Error body is far shorter, however well it compresses. */
const LONGEST = 1_048_576

/** What a body says; undefined when its encoding cannot be read. */
export function decoderFor(
  encoding: string | undefined,
): (bytes: Uint8Array) => string | undefined {
  const decode = DECODERS.get((encoding ?? 'identity').trim().toLowerCase())
  return bytes => {
    try {
      return decode && new TextDecoder().decode(decode(bytes))
    } catch {
      return undefined
    }
  }
}

const options = { maxOutputLength: LONGEST }

const DECODERS = new Map<string, (bytes: Uint8Array) => Uint8Array>([
  ['identity', bytes => bytes],
  ['gzip', bytes => gunzipSync(bytes, options)],
  ['x-gzip', bytes => gunzipSync(bytes, options)],
  ['deflate', bytes => inflateSync(bytes, options)],
  ['br', bytes => brotliDecompressSync(bytes, options)],
])
