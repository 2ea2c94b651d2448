import type { Watcher, WireRequest, WireResponse } from './network.js'

/** One request of a client, as far as the client knows. Times in ms since the epoch. */
export interface Sent {
  readonly request: WireRequest
  readonly at: number
  /** Perhaps without its body. */
  response?: WireResponse
  isWhole?: boolean
}

/** Notes what a client sends and gets. */
export function createLog(now: () => number): Watcher & { readonly requests: readonly Sent[] } {
  const requests: Sent[] = []
  const open = new Map<WireRequest, Sent>()
  return {
    requests,
    sent(request) {
      const one: Sent = { request, at: now() }
      requests.push(one)
      open.set(request, one)
    },
    received(request, response, isWhole) {
      Object.assign(open.get(request) ?? {}, { response, isWhole })
      open.delete(request)
    },
    failed: request => void open.delete(request),
  }
}
