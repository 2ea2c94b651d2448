/** The exit code for a test that failed; a process that crashes has another one. */
export const FAILED = 9

/** A reporter that ends the process at the first failing test: one is enough to notice a change. */
export default async function* firstFailure(events) {
  for await (const { type } of events) {
    if (type === 'test:fail') process.exit(FAILED)
    yield ''
  }
}
