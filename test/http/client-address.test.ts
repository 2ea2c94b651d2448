import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listen } from '../../adapters/http/index.js'
import { addressKey } from '../../adapters/http/node-request.js'
import { memoryRateLimitStore, memoryStorage } from '../../adapters/stores/memory.js'
import { createStore, type RateLimitSnapshot } from '../../src/index.js'

test('limits.address - an IPv4 address is one address key, as is an IPv6 /64', () => {
  for (const [address, expected] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '::1'],
    ['::2', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['no:address', 'no:address'],
    ['unknown', 'unknown'],
    [undefined, undefined],
  ] as const) {
    assert.equal(addressKey(address), expected, address)
  }
})

test('limits.address - only as many proxies are trusted as the host configures', async () => {
  for (const [proxyHops, forwarded, counted] of [
    [0, '192.0.2.1', 'addr:127.0.0.1'],
    [1, '192.0.2.1', 'addr:192.0.2.1'],
    [1, 'forged, 192.0.2.1', 'addr:192.0.2.1'],
    [2, 'forged, 192.0.2.1, 198.51.100.1', 'addr:192.0.2.1'],
    [2, '192.0.2.1', 'addr:127.0.0.1'],
    [1, '2001:db8::1', 'addr:2001:db8:0:0::/64'],
    [1, '', 'addr:127.0.0.1'],
    [1, '192.0.2.1:51234', 'addr:192.0.2.1'],
    [1, '[2001:db8::1]:51234', 'addr:2001:db8:0:0::/64'],
    [1, '[2001:db8::1]', 'addr:2001:db8:0:0::/64'],
    [1, 'unknown', 'addr:127.0.0.1'],
    [1, '192.0.2.256', 'addr:127.0.0.1'],
    [1, '192.0.2.1:port', 'addr:127.0.0.1'],
    [1, 'x'.repeat(14_000), 'addr:127.0.0.1'],
    [1, undefined, 'addr:127.0.0.1'],
  ] as const) {
    const rateLimitStore = memoryRateLimitStore()
    const store = createStore({ storage: memoryStorage(), apiKeys: {}, rateLimitStore })
    await using server = await listen(store, { port: 0, proxyHops })
    const headers = forwarded === undefined ? {} : { 'X-Forwarded-For': forwarded }
    await (await fetch(`${server.url}/pets`, { headers })).text()
    const partitions = ((await rateLimitStore.dump()) as RateLimitSnapshot).map(([name]) => name)
    assert.deepEqual(partitions, [counted], `${proxyHops} ${forwarded}`)
  }
})
