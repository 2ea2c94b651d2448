/**
 * Sends one command and resolves with its reply. A cluster's client routes by `key`; without a key
 * any node may answer.
 */
export type RedisSend = (command: readonly string[], key?: string) => Promise<unknown>
