/** Functions to call at the end, in order of start. */
export type Stops = (() => Promise<void>)[]

/** Stops the last first, and each one even if others fail. @throws the first failure */
export async function stopAll(stops: Stops): Promise<void> {
  const last = stops.pop()
  if (!last) return
  await stopOnFailure(stops, last)
  await stopAll(stops)
}

/** Stops everything if `run` fails. Throws its failure, which says more than later ones. */
export async function stopOnFailure<T>(stops: Stops, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    await stopAll(stops).catch(() => {})
    throw error
  }
}

export async function withStops<T>(run: (stops: Stops) => Promise<T>): Promise<T> {
  const stops: Stops = []
  const result = await stopOnFailure(stops, () => run(stops))
  await stopAll(stops)
  return result
}
