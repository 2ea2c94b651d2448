import type { ConsoleWorld } from './options.js'

type ApiKeys = ReturnType<ConsoleWorld['apiKeys']>

/** The API keys to redact in exchanges: those valid then and those valid now, except the public ones. */
export type SecretKeys = () => (then: ApiKeys) => readonly string[]

export function secretKeysOf({ apiKeys, isPublicKey }: ConsoleWorld): SecretKeys {
  return () => {
    const now = apiKeys()
    const lists = new Map<ApiKeys, readonly string[]>()
    return then => {
      const keys = Object.keys(then === now ? now : { ...then, ...now })
      const list = lists.get(then) ?? keys.filter(key => !isPublicKey(key))
      lists.set(then, list)
      return list
    }
  }
}
