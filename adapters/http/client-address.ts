import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'

/** The socket's address, or the one that the outermost trusted proxy added to `X-Forwarded-For`. */
export function clientAddress({ headers, socket }: IncomingMessage, proxyHops: number) {
  if (proxyHops === 0) return addressKey(socket.remoteAddress)
  const entry =
    String(headers['x-forwarded-for'] ?? '')
      .split(',')
      .at(-proxyHops) ?? ''
  return addressKey(addressIn(entry.trim()) ?? socket.remoteAddress)
}

/** Anything else is ignored; it would otherwise fill the table of callers. */
function addressIn(entry: string): string | undefined {
  const [, v6, v4] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(entry) ?? []
  const address = v6 ?? v4 ?? entry
  return isIP(address) ? address : undefined
}

/** By what callers are counted: their IPv4 address, or the /64 of IPv6 that each is given, its first four groups. */
export function addressKey(address: string | undefined): string | undefined {
  if (!address?.includes(':')) return address
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  const [plain = ''] = address.split('%')
  if (!isIPv6(plain)) return address
  const missing = 8 - plain.split(':').filter(Boolean).length
  const full = plain.replace('::', `:${'0:'.repeat(missing)}`).replace(/^:/, '')
  const groups = full.split(':').slice(0, 4)
  return `${groups.map(group => Number.parseInt(group, 16).toString(16)).join(':')}::/64`
}
