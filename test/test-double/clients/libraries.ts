import { type Client, randomFrom, retry, times } from './api.js'

/** A pause in seconds, after so many failures from 0 on. */
type PauseOf = (at: number, random: () => number, before: number) => number

/** Pauses of libraries between retries without Retry-After, by default or as their pages show. */
const PAUSES: Record<string, PauseOf> = {
  'cockatiel, from 300 to 600 ms': at => Math.min(0.3 * 2 ** at, 0.6),
  'async-retry, from 200 to 500 ms': (at, random) => Math.min((1 + random()) * 0.2 * 2 ** at, 0.5),
  'axios-retry with exponentialDelay': (at, random) => 0.1 * 2 ** at * (1 + 0.2 * random()),
  'the decorrelated jitter of AWS': (_, random, before) =>
    Math.min(20, 0.1 + random() * (3 * Math.max(before, 0.1) - 0.1)),
  got: (at, random) => 2 ** at + random() * 0.1,
  ky: at => 0.3 * 2 ** at,
  'p-retry': at => 2 ** at,
  'urllib3, whose first retry is at once': at => (at === 0 ? 0 : 0.5 * 2 ** at),
  'retryablehttp of Go': at => Math.min(2 ** at, 30),
  'tenacity with random exponential waits': (at, random) => random() * Math.min(2 ** at, 60),
  'gRPC, with 20 % jitter': (at, random) => Math.min(1.6 ** at, 120) * (0.8 + 0.4 * random()),
  'Spring Retry, up to ten seconds': at => Math.min(1.5 ** at, 10),
  'a script that waits 30 s, and then a minute each': at => (at === 0 ? 30 : 60),
}

/** Each is polite. */
export const LIBRARIES = Object.fromEntries(
  Object.entries(PAUSES).map(([name, pauseOf]): [string, Client] => [
    `backs off like ${name}`,
    async api => {
      for (const seed of times(12)) {
        const random = randomFrom(seed + 1)
        const pauses: number[] = []
        for (const at of times(9)) pauses.push(pauseOf(at, random, pauses.at(-1) ?? 0))
        api.fail(503, { times: 4 + (seed % 6) })
        await retry(api, api.connection(), pauses)
        api.pass(3_600)
      }
    },
  ]),
)
