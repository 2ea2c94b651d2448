import { setImmediate as nextTurn } from 'node:timers/promises'
import { Client, type Dispatcher } from 'undici'
import type { TestDouble } from '../../../adapters/test-double/index.js'
import {
  type JudgeOptions,
  readJudgeOptions,
} from '../../../adapters/verdict/judge/judge-options.js'
import { createObserver } from '../../../adapters/verdict/judge/observer.js'
import { openProxy } from '../../../adapters/verdict/judge/proxy/proxy.js'
import {
  type Api,
  answerOf,
  createApi,
  initOf,
  LOST,
  type Send,
} from '../../test-double/clients/api.js'

export type OpenProxy = Awaited<ReturnType<typeof proxyTo>>

/** A proxy in front of a server. */
export async function proxyTo(options: JudgeOptions, { timeoutMs = 60_000 } = {}) {
  const observer = createObserver(readJudgeOptions(options))
  const proxy = await openProxy({ baseUrl: options.baseUrl, observer, timeoutMs })
  return { ...proxy, report: observer.report, [Symbol.asyncDispose]: proxy.close }
}

/** A client of the corpus over sockets. `close` ends its connections. */
export function apiOver(url: string, double: TestDouble): Api & { close(): void } {
  const clients: Client[] = []
  const { origin, pathname } = new URL(url)
  const senderOn = (client: Client): Send => {
    return async call => {
      const { path = 'pets', ...init } = initOf(call)
      const patience = new AbortController()
      const { signal } = patience
      const before = double.requests().length
      const hangs = double.faults.list().some(({ kind }) => kind === 'hang')
      try {
        const options = {
          ...init,
          path: `${pathname}/${path}`,
          signal,
          blocking: false,
        } as Dispatcher.RequestOptions
        const answer = client.request(options)
        // As a client does whose time limit is over once the request has arrived.
        while (hangs && double.requests().length === before) await nextTurn()
        if (hangs) patience.abort()
        const { statusCode, headers, body } = await answer
        return answerOf(statusCode, headers as Record<string, string>, await body.text())
      } catch {
        return LOST
      }
    }
  }
  /** Requests in flight at the same time are pipelined. */
  const open = () => new Client(origin, { pipelining: 10 })
  const connection = (): Send => {
    const client = open()
    clients.push(client)
    return senderOn(client)
  }
  const send: Send = async call => {
    const client = open()
    const answer = await senderOn(client)(call)
    await client.destroy()
    return answer
  }
  const close = () => {
    for (const client of clients) void client.destroy()
  }
  return { ...createApi(double, { send, connection }), close }
}
