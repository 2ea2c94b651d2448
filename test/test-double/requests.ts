import type { ExchangeFilter, TestDouble } from '../../adapters/test-double/index.js'

/** Where the clock of a double begins. */
export const T0 = Date.UTC(2030, 0, 1)

export const FREE = { authorization: 'Bearer demo-free' }
export const JSON_TYPE = { 'content-type': 'application/json' }

/** Creates an animal. */
export const CREATE = {
  method: 'POST',
  headers: { ...FREE, ...JSON_TYPE },
  body: '{"name":"Ada","categoryId":1}',
}

export function list({ fetch }: Pick<TestDouble, 'fetch'>, headers: object = {}) {
  return fetch('pets', { headers: { ...FREE, ...headers } })
}

/** The statuses of lists, one after the other. */
export async function statuses(double: TestDouble, count: number): Promise<readonly number[]> {
  const seen: number[] = []
  while (seen.length < count) seen.push((await list(double)).status)
  return seen
}

/** A typical hand-written client: lists so many times, and waits as long as Retry-After says. */
export async function callPolitely(
  double: TestDouble,
  count: number,
  sleep: (ms: number) => Promise<unknown>,
): Promise<number> {
  let served = 0
  while (served < count) {
    const answer = await list(double)
    if (answer.status === 200) served++
    else await sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
  return served
}

/** The `n` of the exchanges in the journal. */
export function numbers(double: TestDouble, filter?: ExchangeFilter): readonly number[] {
  return double.requests(filter).map(({ n }) => n)
}

export function notesOf(double: TestDouble, since: 'reset' | 'start' = 'reset'): readonly string[] {
  return double.report({ since }).notes.map(({ seen }) => seen)
}

/** Two ways to send to a path of the API: in process, and over a socket. */
export async function doorsOf(double: TestDouble): Promise<readonly [Door, Door]> {
  const { url } = await double.listen()
  return [
    (path, init) => double.fetch(`${double.baseUrl}${path}`, init),
    (path, init) => fetch(url + path, init),
  ]
}

type Door = (path: string, init?: RequestInit) => Promise<Response>

/** Waits until a request has arrived. */
export async function arrived(double: TestDouble): Promise<void> {
  while (double.requests().length === 0) await settled()
}

/** After everything that needs only promises. */
export function settled(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
