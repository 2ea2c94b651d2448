import { failureText } from './report-text.js'
import { prepare } from './verify.js'
import type { VerifyOptions } from './verify-options.js'

/** `test` of node:test, Vitest or Jest. */
export interface TestFunction {
  (name: string, run: TestBody, timeoutMs?: number): unknown
  /** Registers skipped tests; without it, checks that the options exclude are not registered. */
  skip?(name: string, run: TestBody): unknown
}

type TestBody = (...given: readonly unknown[]) => Promise<void>

/**
 * Registers one test for each check, to run one after the other.
 * @throws OptionError
 * @throws VerifyError if no check would run
 *
 * @example
 * import { test } from 'node:test'
 * import { createTestDouble } from 'animal-adoption-store/test-double'
 * import { verifySuite } from 'animal-adoption-store/verify'
 *
 * const { baseUrl, fetch } = createTestDouble()
 * verifySuite(test, { baseUrl, fetch, apiKey: 'demo-business', only: ['auth'] })
 */
export function verifySuite(test: TestFunction, options: VerifyOptions): void {
  const run = prepare(options)
  let started: Promise<void> | undefined
  // Vitest and Jest allow 5 s by default; a wait for the next window takes longer.
  const timeoutMs = run.maxWaitMs + 60_000

  for (const check of run.checks) {
    const { id, title, requirement } = check
    const name = `${id} - ${title} (${requirement.level}, ${requirement.source})`
    // Jest would take a declared parameter for its `done`.
    const judge = async (...[context]: readonly unknown[]) => {
      started ??= run.start()
      await started
      const { outcome, reason, failure } = await run.judge(check)
      if (outcome === 'skipped') skip(context, reason)
      if (!failure) return
      throw new Error(`${id}\n${failureText(failure, name => `${name}:`.padEnd(10))}`)
    }
    const missing = run.missing(check)
    if (missing === undefined) test(name, judge, timeoutMs)
    else test.skip?.(`${name}: ${missing}`, judge)
  }
}

/** Skips a test that has begun; in Jest, which cannot, it passes. */
function skip(context: unknown, reason: string | undefined): void {
  const { skip: given } = (context ?? {}) as { skip?: (reason?: string) => void }
  given?.call(context, reason)
}
