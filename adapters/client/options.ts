import { isCount, isFunction, isSize, type Rules, readOptions } from '../../src/options.js'
import type { ClientOptions } from './client.js'
import type { Sleep } from './gate.js'

/** The options with their defaults. @throws OptionError, which never shows the API key */
export function checkClientOptions(given: ClientOptions): Required<ClientOptions> {
  return readOptions(given, DEFAULTS, RULES)
}

const sleep: Sleep = (ms, signal) =>
  new Promise(resolve => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER))
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })

/** A longer one would end at once. Who slept looks at the clock again. */
const LONGEST_TIMER = 2 ** 31 - 1

const DEFAULTS = {
  maxConcurrent: 10,
  maxQueued: 10_000,
  maxRetries: 3,
  maxWaitMs: 120_000,
  timeoutMs: 30_000,
  // Looked up at each call: a test may replace it.
  fetch: ((input, init) => globalThis.fetch(input, init)) satisfies typeof globalThis.fetch,
  clock: Date.now,
  sleep,
  random: Math.random,
}

const RULES: Rules<ClientOptions> = {
  apiKey: {
    expected: 'printable ASCII without spaces',
    accepts: value => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
    secret: true,
  },
  baseUrl: {
    expected: 'an address that begins with http:// or https://',
    accepts: value => typeof value === 'string' && /^https?:$/.test(protocolOf(value)),
  },
  maxConcurrent: isCount,
  maxQueued: isSize,
  maxRetries: isSize,
  maxWaitMs: isSize,
  timeoutMs: isCount,
  fetch: isFunction,
  clock: isFunction,
  sleep: isFunction,
  random: isFunction,
}

function protocolOf(address: string): string {
  try {
    return new URL(address).protocol
  } catch {
    return ''
  }
}
