import { DOORS } from '../support/doors.js'
import { protocolSuite } from './checks/suite.js'

for (const [name, open] of Object.entries(DOORS)) {
  // Through `handle`, with every response compared with the description: see openapi.test.ts.
  if (name !== 'handle') protocolSuite(name, open)
  protocolSuite(`${name} over ports that take their time`, open, undefined, later)
}

/** The same port, but every method is asynchronous. */
function later<Port extends object>(port: Port): Port {
  return new Proxy(port, {
    get(target, name) {
      const method = Reflect.get(target, name) as ((...given: unknown[]) => unknown) | undefined
      return method && (async (...given: unknown[]) => method.apply(target, given))
    },
  })
}
