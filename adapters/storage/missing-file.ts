/** The answer, or undefined when there is no such file. */
export function ifPresent<T>(call: Promise<T>): Promise<T | undefined> {
  return call.catch(error => {
    if (isMissing(error)) return undefined
    throw error
  })
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
