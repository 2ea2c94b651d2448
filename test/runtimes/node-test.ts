/** Stands in for `node:test` where there is none: collects tests, which `runAll` runs one after the other. */
type Run = (context: Context) => unknown
interface Context {
  after(task: () => unknown): void
  readonly mock: never
}

const tests: { readonly name: string; readonly run: Run }[] = []
const ends: (() => unknown)[] = []

export function test(name: string, ...given: readonly [Run] | readonly [object, Run]): void {
  tests.push({ name, run: given.at(-1) as Run })
}

export function after(task: () => unknown): void {
  ends.push(task)
}

export interface Result {
  readonly passed: number
  readonly failed: readonly string[]
  /** Tests that need `mock` of node:test, a socket, or a global or module of Node. */
  readonly skipped: readonly string[]
}

export async function runAll(): Promise<Result> {
  const failed: string[] = []
  const skipped: string[] = []
  for (const { name, run } of tests) {
    const tasks: (() => unknown)[] = []
    try {
      await run({
        after: task => void tasks.push(task),
        get mock(): never {
          throw new Error('mock needs Node')
        },
      })
      for (const task of tasks) await task()
    } catch (error) {
      const text = `${name}: ${(error as Error).message ?? error}`
      if (/ needs Node|(process|Buffer) is not defined|import_node_/.test(text)) skipped.push(text)
      else failed.push(text)
    }
  }
  for (const end of ends) await end()
  return { passed: tests.length - failed.length - skipped.length, failed, skipped }
}
