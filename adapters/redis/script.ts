import { createHash } from 'node:crypto'
import type { Limits } from '../../src/limits/plans.js'
import {
  type Decision,
  rejectionsBeforeBan,
  type Usage,
} from '../../src/limits/windows-and-bans.js'
import type { RedisClient } from './connect.js'

export interface Request {
  readonly limits: Limits
  /** In ms since the epoch; undefined for the server's clock. */
  readonly now: number | undefined
}

export type Command = Parameters<RedisClient['call']>

/** Runs `decide` of src/limits/windows-and-bans.ts on the server: atomic, in one round trip. */
export function consume(client: RedisClient, key: string, request: Request): Promise<Decision> {
  const { limits, now } = request
  const { perMinute, perDay } = limits
  const rejections = rejectionsBeforeBan(limits)
  const values = [
    now === undefined ? '' : String(Math.floor(now)),
    String(perMinute),
    String(perDay),
    Number.isFinite(rejections) ? String(rejections) : '-1',
  ]
  return run(client, ['1', key, ...values]).then(reply => readDecision(String(reply), limits))
}

export function readUsage(stored: string): Usage {
  const [lastSeen, minuteCount, rejections, dayCount, bannedUntil, banLevel] = stored
    .split(' ')
    .map(Number) as [number, number, number, number, number, number]
  return { lastSeenAt: lastSeen, minuteCount, rejections, dayCount, bannedUntil, banLevel }
}

export function storeCommand(key: string, usage: Usage): Command {
  const { lastSeenAt, minuteCount, rejections, dayCount, bannedUntil, banLevel } = usage
  const value = [lastSeenAt, minuteCount, rejections, dayCount, bannedUntil, banLevel].join(' ')
  const dayEnd = (Math.floor(lastSeenAt / DAY) + 1) * DAY
  const ends = bannedUntil === 0 ? dayEnd : Math.max(dayEnd, bannedUntil + DAY)
  return ['SET', key, value, 'PX', String(ends - lastSeenAt + HOUR)]
}

const HOUR = 3_600_000
const DAY = 24 * HOUR

function run(client: RedisClient, given: readonly string[]): Promise<unknown> {
  return client.call('EVALSHA', SHA, ...given).catch(error => {
    // After a restart the server does not know the script, and has not run it.
    if (!String((error as Error).message).startsWith('NOSCRIPT')) throw error
    return client.call('EVAL', SCRIPT, ...given)
  })
}

function readDecision(reply: string, limits: Limits): Decision {
  const [code, window, remaining, reset, retryAfter, bannedUntil] = reply
    .split(' ')
    .map(Number) as [number, number, number, number, number, number]
  const decision: Decision = {
    limit: window === 1 ? limits.perDay : limits.perMinute,
    remaining,
    reset,
    window: window === 1 ? 'day' : 'minute',
  }
  if (code === 0) return decision
  const rejected = { ...decision, code: CODES[code] as NonNullable<Decision['code']>, retryAfter }
  return bannedUntil === 0 ? rejected : { ...rejected, bannedUntil }
}

const CODES = [undefined, 'rate_limit_exceeded', 'api_key_banned'] as const

/**
 * KEYS[1] one partition. ARGV: now in ms or '', perMinute, perDay, banAfter or -1 for never. Replies
 * 'code window remaining reset retryAfter bannedUntil': code 0 admitted, 1 rate_limit_exceeded,
 * 2 api_key_banned; window 0 minute, 1 day. As text, since clients round integer replies near 2^53.
 */
export const SCRIPT = `
local MINUTE, DAY, SECOND, HOUR = 60000, 86400000, 1000, 3600000
local FIRST_BAN, LONGEST_BAN, BAN_MEMORY, CLOCK_SKEW = 300000, HOUR, DAY, MINUTE
local current = tonumber(ARGV[1])
if not current then
  local time = redis.call('TIME')
  current = time[1] * 1000 + math.floor(time[2] / 1000)
end
local perMinute, perDay, banAfter = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local at, minuteCount, rejections, dayCount, bannedUntil, banLevel = current, 0, 0, 0, 0, 0
local stored = redis.call('GET', KEYS[1])
if stored then
  local last, m, r, d, b, l = string.match(stored, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
  last, bannedUntil, banLevel = tonumber(last), tonumber(b), tonumber(l)
  if last > current and last - current <= CLOCK_SKEW then at = last end
  if math.floor(last / MINUTE) == math.floor(at / MINUTE) then
    minuteCount, rejections = tonumber(m), tonumber(r)
  end
  if math.floor(last / DAY) == math.floor(at / DAY) then
    dayCount = tonumber(d)
  end
  if bannedUntil > at + LONGEST_BAN + SECOND then bannedUntil = 0 end
end
local minuteLeft, dayLeft = math.max(0, perMinute - minuteCount), math.max(0, perDay - dayCount)
local minuteEnd, dayEnd = (math.floor(at / MINUTE) + 1) * MINUTE, (math.floor(at / DAY) + 1) * DAY
local function text(...) return string.format('%.0f %.0f %.0f %.0f %.0f %.0f', ...) end
local function rejected(code, untl, begun)
  local reset = untl
  if dayLeft == 0 then reset = math.max(dayEnd, untl)
  elseif minuteLeft == 0 then reset = math.max(minuteEnd, untl) end
  local wait = math.ceil((reset - current) / SECOND)
  return text(code, dayLeft == 0 and 1 or 0, 0, reset / SECOND, wait, begun)
end
-- Nothing is written while banned.
if bannedUntil ~= 0 and at < bannedUntil then return rejected(2, bannedUntil, 0) end
local reply
if minuteLeft > 0 and dayLeft > 0 then
  minuteCount, dayCount = minuteCount + 1, dayCount + 1
  if dayLeft <= minuteLeft then reply = text(0, 1, dayLeft - 1, dayEnd / SECOND, 0, 0)
  else reply = text(0, 0, minuteLeft - 1, minuteEnd / SECOND, 0, 0) end
elseif banAfter < 0 or rejections < banAfter then
  rejections = rejections + 1
  reply = rejected(1, 0, 0)
else
  local remembered = bannedUntil ~= 0 and at - bannedUntil < BAN_MEMORY
  banLevel = remembered and banLevel + 1 or 1
  local length = math.min(FIRST_BAN * 2 ^ (banLevel - 1), LONGEST_BAN)
  bannedUntil, rejections = math.ceil((at + length) / SECOND) * SECOND, 0
  reply = rejected(2, bannedUntil, bannedUntil)
end
-- A length, not an instant: the clock may be virtual. An hour more, for a clock that is held.
local ends = dayEnd
if bannedUntil ~= 0 then ends = math.max(dayEnd, bannedUntil + BAN_MEMORY) end
local state = text(at, minuteCount, rejections, dayCount, bannedUntil, banLevel)
redis.call('SET', KEYS[1], state, 'PX', text(ends - at + HOUR, 0, 0, 0, 0, 0):match('%S+'))
return reply
`

const SHA = createHash('sha1').update(SCRIPT).digest('hex')
