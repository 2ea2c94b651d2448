import type { ApiHandler } from '../../src/index.js'

/** A handler that holds each response until its request is released. */
export function heldHandler(handler: ApiHandler) {
  const gates: (() => void)[] = []
  let waiting: { count: number; resolve: () => void } | undefined
  return {
    handler: {
      ...handler,
      async handle(request) {
        await new Promise<void>(resolve => {
          gates.push(resolve)
          if (waiting && gates.length >= waiting.count) waiting.resolve()
        })
        return handler.handle(request)
      },
    } satisfies ApiHandler,
    release: (index: number) => gates[index]?.(),
    arrived: (count: number) =>
      new Promise<void>(resolve => {
        if (gates.length >= count) resolve()
        else waiting = { count, resolve }
      }),
  }
}
