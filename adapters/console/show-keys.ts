import type { Kept } from './activity.js'
import type { Shown } from './exchange-detail.js'
import type { ConsoleWorld } from './options.js'

type ApiKeys = ReturnType<ConsoleWorld['apiKeys']>

/** Adds the API keys to redact in an exchange: those valid then and those valid now, except the public ones. */
export type ShowKeys = () => (exchange: Kept) => Shown

export function showKeysOf({ apiKeys, isPublicKey }: ConsoleWorld): ShowKeys {
  return () => {
    const now = apiKeys()
    const lists = new Map<ApiKeys, Pick<Shown, 'keys' | 'publicKeys'>>()
    return exchange => {
      const then = exchange.apiKeys
      const all = Object.keys(then === now ? now : { ...then, ...now })
      const found = lists.get(then) ?? {
        keys: all.filter(key => !isPublicKey(key)),
        publicKeys: all.filter(isPublicKey),
      }
      lists.set(then, found)
      return { ...exchange, ...found, isPublicKey }
    }
  }
}
