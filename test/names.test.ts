import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS, type Command } from '../adapters/cli/commands.js'
import { flagOf } from '../adapters/cli/options.js'
import { readPages } from './support/pages.js'
import { readPublicApi } from './support/public-api.js'

/** Variables of `exec` besides the API key. */
const STORE_VARIABLES = ['BASE_URL', 'CONTROL_URL', 'CONTROL_TOKEN']
/** CONTRIBUTING.md lists what the tests read. */
const TEST_VARIABLES = /^(ENGINES|SQLITE|CHAOS|KILLS|NODES|RUNTIMES)$/

const { exports, names } = readPublicApi()

test('names - an API key is apiKey, its id keyId, and nothing is just a key', () => {
  assert.ok(names.length > 1_500)
  const keys = names.filter(({ name }) => name === 'key')
  const paths = keys.map(({ path }) => path)
  assert.deepEqual(paths, [])
})

test('names - what belongs to rate limits has one word and one type each', () => {
  const types: Readonly<Record<string, RegExp>> = {
    rateLimit: /^RateLimit( \| undefined)?$/,
    rateLimiting: /^(RateLimitMode|boolean \| "shadow"|"shadow" \| boolean)( \| undefined)?$/,
    rateLimitStore: /^RateLimitStore( \| undefined)?$/,
    limits: /^(Limits( \| undefined)?|undefined|\{ readonly perMinute: .*)$/,
  }
  for (const { name, path, type } of names) {
    assert.doesNotMatch(name, /^(rateLimits|policy|policies)$/, path)
    if (types[name]) assert.match(type, types[name], path)
  }
})

test('names - a clock is a function that returns ms', () => {
  const clocks = names.filter(({ name, kind }) => name === 'clock' && kind === 'field')
  assert.ok(clocks.length > 4)
  for (const { type, path } of clocks) {
    assert.match(type, /^(Clock( \| undefined)?|VirtualClock|Clock & .*|.*\(\) => number.*)$/, path)
  }
})

test('names - a number of ms ends in Ms, and people write a time as a Duration', () => {
  const own = names.filter(({ path }) => !/^(Har|Disk|PostgresQuery|Timers?)\b/.test(path))
  const isTime = /(timeout|[a-z]Wait|ttl|lifetime|duration|grace|jitter|interval|maxTime|Ms)$/i
  const times = own.filter(
    ({ name, type }) => name !== 'ms' && isTime.test(name) && !type.includes('=>'),
  )
  assert.ok(times.length > 20)
  for (const { name, path, type } of times) {
    const written = /^(Duration|string \| number)( \| undefined)?$/
    assert.match(type, name.endsWith('Ms') ? /^number( \| (null|undefined))?$/ : written, path)
  }
  const bare = own.filter(({ name, kind }) => name === 'ms' && kind === 'field')
  assert.deepEqual(bare, [])
})

test('names - what ends in At is an instant, which options take in every form', () => {
  const instants = names.filter(({ name }) => /[a-z]At$/.test(name))
  assert.ok(instants.length > 10)
  for (const { name, path, type } of instants) {
    const isOption = /^(sunset|deprecated)At$/.test(name) || path === 'ApiKey.expiresAt'
    assert.match(type, isOption ? /^(Instant|string \| number \| Date)\b/ : /\bnumber\b/, path)
  }
})

test('names - each is one declaration, whichever subpath exports it', () => {
  const places = new Map<string, string>()
  for (const [subpath, exported] of exports) {
    for (const [name, place] of exported) {
      assert.equal(places.get(name) ?? place, place, `${name} of ${subpath}`)
      places.set(name, place)
    }
  }
})

test('names - the types of all options are exported', () => {
  const exported = new Set([...exports.values()].flatMap(names => [...names.keys()]))
  const types = names.flatMap(({ type }) => [...type.matchAll(/\b[A-Z]\w*Options\b/g)])
  const used = new Set(types.map(([name]) => name))
  assert.ok(used.size > 10)
  const missing = [...used].filter(name => !exported.has(name))
  assert.deepEqual(missing, ['ErrorOptions', 'ConnectionOptions'])
})

test('names - every variable in a page or a help text is that of a flag', () => {
  const flags = Object.values<Command>(COMMANDS).flatMap(({ groups = {} }) =>
    Object.values(groups).flatMap(options => Object.keys(options).map(flagOf)),
  )
  const known = [...STORE_VARIABLES, ...flags.map(variableOf)]
  const texts = [...readPages().map(({ text }) => text), JSON.stringify(COMMANDS)]
  const named = texts.flatMap(text => [...text.matchAll(/ADOPTION_STORE_([A-Z_]+)/g)])
  assert.ok(named.length > 20)
  const unknown = named.map(([, name = '']) => name).filter(name => !known.includes(name))
  const undeclared = unknown.filter(name => !TEST_VARIABLES.test(name))
  assert.deepEqual(undeclared, [])
})

function variableOf(flag: string): string {
  return flag.slice(2).toUpperCase().replaceAll('-', '_')
}
