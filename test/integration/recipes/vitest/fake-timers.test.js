import { createTestDouble } from 'animal-adoption-store/test-double'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'

beforeEach(() => vi.useFakeTimers({ now: Date.UTC(2030, 0, 1) }).setTimerTickMode('nextTimerAsync'))
afterEach(() => vi.useRealTimers())

test('code with real setTimeout sleeps on fake timers', async () => {
  const double = createTestDouble({ time: 'running' })
  await poll(double, 100)
  expect(double.clock()).toBe(Date.UTC(2030, 0, 1, 0, 1))
  expect(double.report().findings).toEqual([])
})

async function poll(double, count) {
  for (let served = 0; served < count; ) {
    const response = await double.fetch('pets', { headers: { authorization: 'Bearer demo-free' } })
    const ms = Number(response.headers.get('retry-after')) * 1000
    if (response.ok) served++
    else await new Promise(resolve => setTimeout(resolve, ms))
  }
}
