import type { LoadHook } from 'node:module'

/** A change to one module of the build. */
export interface Plant {
  /** The end of its path. */
  readonly file: string
  readonly from: string
  readonly to: string
}

const { file, from, to } = JSON.parse(process.env['PLANT'] ?? '') as Plant

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context)
  if (!url.endsWith(file)) return loaded
  const source = String(loaded.source)
  if (!source.includes(from)) throw new Error(`${file} does not have ${from}`)
  return { ...loaded, source: source.replace(from, to) }
}
