import type { ApiHandler } from '../../../src/api.js'
import { notFound } from '../../../src/errors.js'
import type { TestDouble } from '../double.js'
import type { TestDoubleOptions } from '../options.js'
import { command, failure } from './commands.js'

import { createWorlds } from './worlds.js'

/** A snapshot with a full journal is larger than any animal. */
const MAX_BODY_BYTES = 16 * 1_048_576

/**
 * A double with the commands for it beside it, over HTTP: `/_control`, and worlds of the same kind
 * below `/worlds/<id>`, each with a `_control` of its own. Nothing of it touches the base path.
 */
export function withControl(double: TestDouble, options: TestDoubleOptions): ApiHandler {
  const worlds = createWorlds(options)
  const maxBodyBytes = Math.max(double.maxBodyBytes, MAX_BODY_BYTES)

  return {
    basePath: double.basePath,
    maxBodyBytes,
    connect: () => double.connect(),
    async handle(request) {
      const [, worldId, control] = PLACE.exec(request.path) ?? []
      const place = worldId === undefined ? double : worlds.find(worldId)
      if (!place) return failure(request.method, notFound(`There is no world '${worldId}'.`))
      if (control === undefined) return place.handle(request)
      return command(control, {
        request,
        double: place,
        maxBodyBytes,
        worlds: worldId === undefined ? worlds : undefined,
      })
    },
  }
}

const PLACE = /^(?:\/worlds\/([^/]*))?(?:\/_control(?:$|\/)(.*))?/
