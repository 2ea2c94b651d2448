import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withRequestLog } from '../../adapters/cli/request-log.js'
import { createSecrets } from '../../adapters/exchanges/hide-secrets.js'
import { redactorOf } from '../../adapters/exchanges/redact.js'
import { memoryStorage } from '../../adapters/memory.js'
import { createStore } from '../../src/index.js'

const LABEL = () => '*'

test('secrets - are hidden wherever they are and however they are spelled', () => {
  const secrets = createSecrets(['ab/cdEF+gh', 'demo-free'])
  for (const [text, shown] of [
    ['ab/cdEF+gh', '*'],
    ['xab/cdEF+ghx', 'x*x'],
    ['ab%2FcdEF%2Bgh', '*'],
    ['ab%2fcd%45F+gh', '*'],
    ['"ab\\/cdEF\\u002bgh"', '"*"'],
    ['a%62/cdEF+gh demo-free', '* *'],
    ['demo-free%2Fdemo-freedemo-free', '*%2F**'],
    ['AB/cdEF+gh demo-fre', 'AB/cdEF+gh demo-fre'],
    ['%', '%'],
    ['', ''],
  ] as const) {
    assert.equal(secrets.hide(text, LABEL), shown, text)
  }
})

test('secrets - one that contains a percent sign is found as it is and encoded', () => {
  const secrets = createSecrets(['ab%41cdef', 'next-one'])
  assert.equal(secrets.hide('ab%41cdef ab%2541cdef abAcdef next%2Done', LABEL), '* * abAcdef *')
})

test('secrets - those that overlap or contain each other leave nothing behind', () => {
  const secrets = createSecrets(['abcdefgh', 'cdefghijkl', 'abcdefghijklmnop', 'mnopqrst'])
  assert.equal(secrets.hide('abcdefghijkl', LABEL), '*')
  assert.equal(secrets.hide('abcdefghijklmnopqrst.', LABEL), '*.')
  assert.equal(secrets.hide('abcdefgh.cdefghijkl', LABEL), '*.*')
})

test('secrets - none, and an empty one, hide nothing', () => {
  assert.equal(createSecrets([]).hide('text', LABEL), 'text')
  assert.equal(createSecrets(['', 'short']).hide('a short text', LABEL), 'a * text')
})

test('redaction - short keys stay, or are redacted as whole words', () => {
  const captured = {
    request: { method: 'GET', path: '/', query: '', headers: { authorization: 'Basic pw' } },
    keys: ['k3y', 'long-enough'],
  }
  const text = 'k3y k3yboard "k%33y" pw long-enough'
  assert.equal(redactorOf(captured, 'shown')(text), 'k3y k3yboard "k%33y" pw REDACTED')
  assert.equal(
    redactorOf(captured, 'words')(text),
    'REDACTED k3yboard "REDACTED" REDACTED REDACTED',
  )
})

test('redaction - a line of the request log takes as many look-ups with 10,000 keys as with 10', async () => {
  const [few, many] = [await lookUpsOfALine(10), await lookUpsOfALine(10_000)]
  assert.deepEqual(many, few)
  assert.ok(few.found > 0)
})

/** How often a request with a long query looks something up, once the keys are known. */
async function lookUpsOfALine(count: number) {
  const names = Array.from({ length: count }, (_, at) => `sk_live_${String(at).padStart(24, 'x')}`)
  const records = Object.fromEntries(
    names.map((key, at) => [key, { id: `key ${at}`, plan: 'free' }] as const),
  )
  let listed = 0
  const apiKeys = new Proxy(records, {
    ownKeys(target) {
      listed++
      return Reflect.ownKeys(target)
    },
  })
  const store = createStore({ storage: memoryStorage(), apiKeys: records, rateLimit: false })
  const lines: string[] = []
  const handler = withRequestLog(store, {
    format: 'json',
    clock: () => 0,
    keys: () => apiKeys,
    colors: false,
    write: line => lines.push(line),
  })
  const query = `q=${'sk_live_'.repeat(50)}${names.at(-1)}&r=${encodeURIComponent('/'.repeat(50))}`
  const headers = { authorization: `Bearer ${names[0]}` }
  const ask = () => handler.handle({ method: 'GET', path: '/v1/pets', query, headers })
  await ask()
  listed = 0
  const found = await countingLookUps(ask)
  assert.match(lines.at(-1) ?? '', /sk_live_REDACTED&r=/)
  return { listed, found }
}

async function countingLookUps(work: () => unknown): Promise<number> {
  let count = 0
  const restores = [
    [String.prototype, ['includes', 'indexOf', 'startsWith', 'slice', 'replace', 'charCodeAt']],
    [Array.prototype, ['includes', 'indexOf', 'filter', 'map', 'some']],
    [Set.prototype, ['has']],
    [Map.prototype, ['get', 'has']],
  ].map(([prototype, names]) => counted(prototype as object, names as string[], () => count++))
  try {
    await work()
  } finally {
    for (const restore of restores) restore()
  }
  return count
}

function counted(prototype: object, names: readonly string[], count: () => void): () => void {
  const methods = prototype as Record<string, (...given: unknown[]) => unknown>
  const originals = names.map(name => [name, methods[name] as (typeof methods)[string]] as const)
  for (const [name, original] of originals) {
    methods[name] = function (this: unknown, ...given: unknown[]) {
      count()
      return original.apply(this, given)
    }
  }
  return () => {
    for (const [name, original] of originals) methods[name] = original
  }
}
