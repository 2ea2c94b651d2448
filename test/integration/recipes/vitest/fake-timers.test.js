import { createTestDouble } from 'animal-adoption-store/test-double'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => vi.useFakeTimers({ now: Date.UTC(2030, 0, 1) }))
afterEach(() => vi.useRealTimers())

test('code with real setTimeout sleeps on fake timers', async () => {
  const double = createTestDouble({ clock: 'running' })
  const work = pollUntil(double, 100)
  await vi.runAllTimersAsync()
  await work
  expect(double.clock.now()).toBe(Date.UTC(2030, 0, 1, 0, 1))
  expect(double.report().findings).toEqual([])
})

async function pollUntil(double, count) {
  for (let served = 0; served < count; ) {
    const response = await double.fetch('pets', { headers: { authorization: 'Bearer demo-free' } })
    if (response.ok) served++
    else {
      const ms = Number(response.headers.get('retry-after')) * 1000
      await new Promise(resolve => setTimeout(resolve, ms))
    }
  }
}
