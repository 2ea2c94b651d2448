import type { TestDouble } from '../double.js'

/** Lists the callers of `fetch` and `sleep` that still wait, oldest first: `fetch at client.js:12`. */
export function traceWaits(double: TestDouble): () => readonly string[] {
  const waiting = new Set<string>()
  const { fetch, clock } = double
  const { sleep } = clock
  Object.assign(double, { fetch: traced('fetch', fetch) })
  Object.assign(clock, { sleep: traced('sleep', sleep) })
  return () => [...waiting]

  function traced<Given extends unknown[], T>(name: string, call: (...given: Given) => Promise<T>) {
    return async (...given: Given): Promise<T> => {
      const place = `${name} at ${callerOf(new Error().stack)}`
      waiting.add(place)
      try {
        return await call(...given)
      } finally {
        waiting.delete(place)
      }
    }
  }
}

/** The first place outside this package and the platform: `client.js:12` on every machine. */
function callerOf(stack = ''): string {
  const lines = stack.split('\n').slice(2)
  const own = lines.find(line => !/node:internal|[\\/]adapters[\\/]/.test(line)) ?? ''
  return /(?<=[\\/])([^\\/]+:\d+):\d+\)?$/.exec(own)?.[1] ?? 'an unknown place'
}
