/** Asks again with each turn of the event loop, for a minute at most. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const limit = AbortSignal.timeout(60_000)
  for (; !(await holds()); await new Promise(setImmediate)) limit.throwIfAborted()
}

export function resolves(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}

/** Blocks every `await` of `passed` until the test opens it. */
export function gate(): { open: () => void; passed: Promise<void> } {
  let open = () => {}
  const passed = new Promise<void>(resolve => {
    open = resolve
  })
  return { open, passed }
}
