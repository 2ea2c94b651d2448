/** What is to be stopped at the end, in the order in which it was started. */
export type Stops = (() => Promise<void>)[]

/**
 * The last first, and each one even where others fail: a server that still listens would keep the
 * process alive.
 *
 * @throws what the first failure threw
 */
export async function stopAll(stops: Stops): Promise<void> {
  const last = stops.pop()
  if (!last) return
  await stopOnFailure(stops, last)
  await stopAll(stops)
}

/**
 * Stops everything when `run` fails, with what `run` threw: it says more than what fails on the way
 * out.
 */
export async function stopOnFailure<Result>(
  stops: Stops,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    await stopAll(stops).catch(() => {})
    throw error
  }
}

/** Runs it, and stops everything afterwards. */
export async function withStops<Result>(run: (stops: Stops) => Promise<Result>): Promise<Result> {
  const stops: Stops = []
  const result = await stopOnFailure(stops, () => run(stops))
  await stopAll(stops)
  return result
}
