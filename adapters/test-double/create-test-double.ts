import { notFound } from '../../src/api-error.js'
import { check, isObject } from '../../src/lib/check-options.js'
import type { ApiRequest } from '../../src/protocol/api-request.js'
import { toErrorAnswer } from '../http/extra-pages.js'
import type { ConnectionSpan } from '../verdict/log/callers.js'
import { command } from './control/commands.js'
import { createWorlds } from './control/worlds.js'
import { createDouble, type JudgedDouble, type TestDouble } from './double.js'
import type { TestDoubleOptions } from './double-options.js'

/**
 * Creates a store in memory, on a clock that is frozen unless an option says otherwise.
 * @throws OptionError naming the invalid option and its value
 * @example
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 *
 * const { baseUrl, fetch, assertPolite } = createTestDouble()
 * await fetch(`${baseUrl}/pets`, { headers: { authorization: 'Bearer demo-free' } })
 * assertPolite()
 */
export function createTestDouble(options: TestDoubleOptions = {}): TestDouble {
  check('options', options, isObject)
  const { faults } = options
  const control = options.control === true ? crypto.randomUUID() : options.control
  const own = faults === undefined ? options : { ...options, faults: copied(faults) }
  if (!control) return createDouble(own)
  const controlled = { ...own, control }
  return createDouble(controlled, double => withControl(double, controlled))
}

/** Copies the faults, which every reset arms again. Uncopyable faults are refused when armed. */
function copied<T>(faults: T): T {
  try {
    return structuredClone(faults)
  } catch {
    return faults
  }
}

/** A snapshot with a full journal is larger than any animal. */
const MAX_BODY_BYTES = 16 * 1_048_576

/** Adds commands over HTTP: `/_control`, and worlds below `/worlds/<id>`, each with its own `_control`. */
export function withControl(
  double: JudgedDouble,
  options: TestDoubleOptions & { readonly control: string },
) {
  const token = options.control
  const worlds = createWorlds(options, double)
  const maxBodyBytes = Math.max(double.maxBodyBytes, MAX_BODY_BYTES)

  return {
    worlds,
    token,
    basePath: double.basePath,
    maxBodyBytes,
    connect: () => double.connect(),
    endDelays() {
      double.endDelays()
      worlds.endDelays()
    },
    async handle(request: ApiRequest) {
      const [, worldId, path] = TARGET.exec(request.path) ?? []
      const target = worldId === undefined ? double : worlds.find(worldId)
      if (!target) return toErrorAnswer(request.method, notFound(`Unknown world '${worldId}'.`))
      if (path === undefined) return target.handle(request)
      const connection = request.connection as ConnectionSpan | undefined
      if (connection) connection.isUsed = true
      return command(path, {
        request,
        double: target,
        maxBodyBytes,
        token,
        worlds: worldId === undefined ? worlds : undefined,
      })
    },
  }
}

const TARGET = /^(?:\/worlds\/([^/]*))?(?:\/_control(?:$|\/)(.*))?/
