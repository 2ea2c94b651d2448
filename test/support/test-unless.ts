import { type TestContext, test } from 'node:test'

/** `test` for a file whose tests need what may be missing: a reason, or false. */
export function testUnless(missing: string | false) {
  return (name: string, run: (t: TestContext) => unknown) =>
    void test(name, { skip: missing }, async t => {
      await run(t)
    })
}
