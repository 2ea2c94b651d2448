import { createObserver } from '../../../dist/adapters/judge/observer.js'
import { readJudgeOptions } from '../../../dist/adapters/judge/options.js'
import { openProxy } from '../../../dist/adapters/judge/proxy/proxy.js'

/** What `exec --through` puts in front of a server. */
export async function serve(origin) {
  const baseUrl = `${origin}/v1`
  const observer = createObserver(readJudgeOptions({ baseUrl }))
  const { url } = await openProxy({ baseUrl, observer, timeoutMs: 60_000 })
  return Number(new URL(url).port)
}
