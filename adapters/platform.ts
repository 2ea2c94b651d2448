// Plumbing takes these at load, as code under test may run on fake timers. In Node they are Node's
// own: a DOM, such as jsdom, lacks some of them.
const { process } = globalThis as { readonly process?: Partial<NodeJS.Process> }

export const {
  clearInterval,
  clearTimeout,
  setInterval,
  setTimeout,
  setImmediate = (task: () => void) => setTimeout(task),
} = process?.getBuiltinModule?.('node:timers') ?? globalThis

export const { TextDecoder, TextEncoder } = process?.getBuiltinModule?.('node:util') ?? globalThis

export const subtleCrypto = () =>
  (process?.getBuiltinModule?.('node:crypto').webcrypto ?? crypto).subtle
