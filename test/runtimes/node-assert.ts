/** Stands in for `node:assert/strict` where there is none: as much of it as the tests use. */
type Matcher = RegExp | object | ((error: unknown) => unknown)

function assert(value: unknown, message = 'Expected a truthy value'): asserts value {
  if (!value) throw new Error(message)
}

export default Object.assign(assert, {
  ok: assert,
  equal: (actual: unknown, expected: unknown, message?: string) =>
    assert(Object.is(actual, expected), message ?? `${show(actual)} is not ${show(expected)}`),
  notEqual: (actual: unknown, other: unknown) =>
    assert(!Object.is(actual, other), `both are ${show(actual)}`),
  deepEqual: (actual: unknown, expected: unknown, message?: string) =>
    assert(isEqual(actual, expected), message ?? `${show(actual)} is not ${show(expected)}`),
  notDeepEqual: (actual: unknown, other: unknown) =>
    assert(!isEqual(actual, other), `both are ${show(actual)}`),
  match: (text: string, pattern: RegExp) => assert(pattern.test(text), `${text} is not ${pattern}`),
  doesNotMatch: (text: string, pattern: RegExp) =>
    assert(!pattern.test(text), `${text} is ${pattern}`),
  fail: (message: string) => assert(false, message),
  throws(task: () => unknown, matcher?: Matcher) {
    try {
      task()
    } catch (error) {
      return check(error, matcher)
    }
    assert(false, 'nothing was thrown')
  },
  async rejects(given: Promise<unknown> | (() => Promise<unknown>), matcher?: Matcher) {
    try {
      await (typeof given === 'function' ? given() : given)
    } catch (error) {
      return check(error, matcher)
    }
    assert(false, 'nothing was rejected')
  },
})

function check(error: unknown, matcher: Matcher | undefined): void {
  if (matcher === undefined) return
  if (matcher instanceof RegExp) {
    assert(matcher.test(String(error)), `${error} is not it`)
    return
  }
  if (typeof matcher !== 'function') {
    for (const [name, expected] of Object.entries(matcher)) {
      const actual = (error as Record<string, unknown>)[name]
      const isSame =
        expected instanceof RegExp ? expected.test(String(actual)) : isEqual(actual, expected)
      assert(isSame, `${name} is ${show(actual)}, not ${show(expected)}`)
    }
    return
  }
  const isClass = /^class\b|native code/.test(String(matcher))
  const holds = isClass ? error instanceof (matcher as never) : matcher(error) === true
  assert(holds, `${error} is not what was expected`)
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return false
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false
  if (one instanceof Date) return one.getTime() === (other as Date).getTime()
  if (one instanceof Set) return isEqual([...one].sort(), [...(other as Set<unknown>)].sort())
  if (one instanceof Error && one.message !== (other as Error).message) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every(key => Object.hasOwn(other, key) && isEqual(one[key as never], other[key as never]))
  )
}

function show(value: unknown): string {
  const text = JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))
  return String(text).slice(0, 300)
}
