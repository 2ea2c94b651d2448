import timers from 'node:timers'

// Adapters take Node's timers at load: imported before them, these look up the global ones at each
// call, which a world replaces.
const global: Record<string, unknown> = globalThis as never
for (const name of ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate']) {
  const late = (...given: unknown[]) => (global[name] as (...given: unknown[]) => unknown)(...given)
  Object.assign(timers, { [name]: late })
}
