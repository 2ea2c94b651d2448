import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readDocExamples } from './support/doc-examples.js'
import { ROOT } from './support/paths.js'
import { readPublicApi } from './support/public-api.js'

const BROWSER = {
  compilerOptions: {
    target: 'ES2022',
    lib: ['ES2022', 'DOM'],
    types: [],
    module: 'ESNext',
    moduleResolution: 'Bundler',
    strict: true,
    skipLibCheck: false,
    noEmit: true,
  },
}

const USES = `
import { createClient } from 'animal-adoption-store/client'
import { indexedDbStorage } from 'animal-adoption-store/indexeddb'
import { createTestDouble } from 'animal-adoption-store/test-double'

const double = createTestDouble({ apiKeys: { a: { id: 'a', plan: 'pro' } } })
const client = createClient({ baseUrl: double.baseUrl, apiKey: 'a', fetch: double.fetch })
const limits = { perMinute: 9, perDay: 99 }
double.addKey('b', { id: 'b', plan: 'enterprise', limits })
const served: Promise<string> = double.listen().then(({ url }) => url)
export const used = [client.listPets({ limit: 1 }), served, indexedDbStorage('pets').ping()]
`

/** Mistakes that the compiler finds, each in a line of its own. */
const MISTAKES = [
  "createTestDouble({ apiKeys: { b: { id: 'b', plan: 'enterprise' } } })",
  "createTestDouble({ apiKeys: { b: { id: 'b', plan: 'Pro' } } })",
  "createTestDouble({ apiKeys: { b: { id: 'b', plan: 'pro', limits } } })",
  'createTestDouble({ pets: { pets: [], nextId: 1 } })',
  "createTestDouble({ pets: [{ id: 1, name: 'Ada', categoryId: 1 }] })",
  "createTestDouble({ snapshot: [{ name: 'Ada', categoryId: 1 }] })",
  "createTestDouble({ allow: ['key.refuse'] })",
  'createTestDouble({ fault: [] })',
  "double.faults.arm({ kind: 'delay' })",
  "double.faults.arm({ kind: 'status', status: 503, retryafter: 1 })",
  "double.requests({ operation: 'listPet' })",
  "double.report({ since: 'begin' })",
  'client.listPets({ limt: 1 })',
  "client.listPets({ status: 'lost' })",
  "client.createPet({ name: 'Ada' })",
  "indexedDbStorage('pets', { timeoutMs: 1 })",
]

test('types - a browser project without the types of Node compiles, but for mistakes in options and calls', () => {
  const found = errorsInBrowser().filter(line => !isOfRules(line))
  const first = USES.split('\n').length
  const places = found.map(line => {
    const [, number] = /program0\.ts\((\d+),\d+\): error/.exec(line) ?? []
    return number ? MISTAKES[Number(number) - first] : line
  })
  assert.deepEqual(places, MISTAKES)
})

/** Promises of the whole API, as programs that compile only while it keeps them. */
const RULES: Readonly<Record<string, string>> = {
  '`requests` is a list, and a count of them is `requestCount`': `
import { judge } from 'animal-adoption-store/judge'
import { CHECKS, verify } from 'animal-adoption-store/verify'
import { createTestDouble, explore, runSchedule } from 'animal-adoption-store/test-double'

const double = createTestDouble()
const watched = judge({ baseUrl: double.baseUrl })
const verified = await verify({ baseUrl: double.baseUrl, apiKey: 'a' })
const explored = await explore(() => {})
const run = await runSchedule('', () => {})
export const counts: readonly number[] = [
  double.report().requestCount, watched.report().requestCount, run.report.requestCount,
  verified.requestCount, ...CHECKS.map(({ maxRequests }) => maxRequests),
]
export const lists: readonly (readonly unknown[])[] = [
  double.requests(), run.requests, ...explored.failures.map(({ requests }) => requests),
  ...double.report().findings.map(({ requests }) => requests),
]`,
  'only a recording is replayed': `
import * as doubles from 'animal-adoption-store/test-double'
const { double, difference } = await (await doubles.openRecording('')).replay({ until: 3 })
export const used = [double.requests(), difference?.step]
// @ts-expect-error: a schedule is run
doubles.replay`,
  'a clock is a function, and times are written in every form': `
import { createStore } from 'animal-adoption-store'
import { createClient } from 'animal-adoption-store/client'
import { memoryStorage } from 'animal-adoption-store/memory'
import { createTestDouble } from 'animal-adoption-store/test-double'

const { baseUrl, clock, faults, fetch } = createTestDouble({ time: new Date(0) })
const expiresAt: readonly (number | string | Date)[] = [0, '2030-01-01', new Date(0)]
const keys = expiresAt.map((instant, at) => [at, { id: 'a', plan: 'pro', expiresAt: instant }] as const)
export const store = createStore({
  ...{ storage: memoryStorage(), apiKeys: Object.fromEntries(keys), clock },
  ...{ sunsetAt: '2030-12-05', deprecatedAt: new Date(0), idempotency: { ttl: '24h' } },
})
const client = createClient({
  ...{ baseUrl, apiKey: 'a', fetch, clock, sleep: clock.sleep, timeout: '10s', maxWait: 500 },
})
await client.listPets({}, { timeout: '1m' })
faults.arm({ kind: 'delay', duration: '2s', jitter: 100, from: '30s', until: '2030-01-01' })
export const now: number = clock()`,
  '`fetch` is an option with the type of the platform': `
import { createStore } from 'animal-adoption-store'
import { type ClientOptions, createClient } from 'animal-adoption-store/client'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { type JudgeOptions, judge } from 'animal-adoption-store/judge'
import { memoryStorage } from 'animal-adoption-store/memory'
import { createTestDouble } from 'animal-adoption-store/test-double'
import { verify, type VerifyOptions } from 'animal-adoption-store/verify'

type Platform = { readonly fetch?: typeof globalThis.fetch | undefined }
type Same<A, B> = [A, B] extends [B, A] ? true : false
export const same: [
  Same<Pick<ClientOptions, 'fetch'>, Platform>,
  Same<Pick<JudgeOptions, 'fetch'>, Platform>,
  Same<Pick<VerifyOptions, 'fetch'>, Platform>,
] = [true, true, true]
const baseUrl = 'http://pets.test/v1'
const store = createStore({ storage: memoryStorage(), apiKeys: {} })
const { fetch } = judge({ baseUrl, fetch: toFetchHandler(store) })
for (const one of [fetch, createTestDouble().fetch, toFetchHandler(store), globalThis.fetch]) {
  createClient({ baseUrl, apiKey: 'a', fetch: one })
  await verify({ baseUrl, apiKey: 'a', fetch: one })
}`,
  'a hook is an option `onX` with one argument, the same for each name': `
import type { StoreOptions } from 'animal-adoption-store'
import type { ClientOptions } from 'animal-adoption-store/client'
import type { ExploreOptions } from 'animal-adoption-store/test-double'
import type { VerifyOptions } from 'animal-adoption-store/verify'

type Hooks<Options> = {
  [Name in keyof Options as Name extends \`on\${Capitalize<string>}\` ? Name : never]-?:
    Parameters<Extract<Options[Name], (...given: never) => unknown>>
}
type All = Hooks<StoreOptions> & Hooks<ClientOptions> & Hooks<VerifyOptions> & Hooks<ExploreOptions>
type Single = { [Name in keyof All]: All[Name] extends readonly [infer Payload] ? Payload : never }
declare const hooks: Single
const { onRequest, onResult, onRetry, onRun, onWait } = hooks
export const seen: readonly (string | number)[] = [
  onRequest.url, onResult.result.id, onRetry.waitMs, onRun.runs, onWait.waitMs,
]
type Same<A, B> = [A, B] extends [B, A] ? true : false
export const same: Same<Hooks<ClientOptions>['onWait'], Hooks<VerifyOptions>['onWait']> = true
type Names = 'onDegraded' | 'onListenerError' | 'onRecovered' | 'onRequest' | 'onResult' | 'onRetry' | 'onRun' | 'onWait'
export const names: Same<keyof All, Names> = true`,
}

test('types - every exported function and option type has an example of two to six lines, which compiles', async () => {
  const examples = readDocExamples().filter(
    ({ path, code }) => code && !path.startsWith('adapters/cli/'),
  )
  const wanted = await namesWithExamples()
  assert.ok(wanted.length > 50)
  const found = wanted.flatMap(name => examples.filter(example => example.name === name))
  const missing = wanted.filter(name => !found.some(example => example.name === name))
  assert.deepEqual(missing, [])
  for (const { path, name, code = '' } of found) {
    const lines = code.split('\n').filter(line => line !== '').length
    assert.ok(lines >= 2 && lines <= 6, `${path}: the example of ${name} has ${lines} lines`)
  }
  const programs = found.map(({ code = '' }) => code)
  const errors = errorsIn(programs, { types: ['node'], skipLibCheck: true }).replace(
    /program(\d+)\.ts/g,
    (_, at) => `${found[at]?.path} ${found[at]?.name}: `,
  )
  assert.equal(errors, '')
})

/** The functions and the option types that the subpaths export. */
async function namesWithExamples(): Promise<readonly string[]> {
  const names = new Set<string>()
  for (const [subpath, exported] of readPublicApi().exports) {
    const values: Readonly<Record<string, unknown>> = await import(
      join('animal-adoption-store', subpath)
    )
    for (const name of exported.keys()) {
      const value = values[name]
      const isClass = typeof value === 'function' && /^class\b/.test(String(value))
      if (/Options$/.test(name) || (typeof value === 'function' && !isClass)) names.add(name)
    }
  }
  return [...names]
}

test('types - what the API promises everywhere holds', () => {
  const names = ['', ...Object.keys(RULES)]
  const found = errorsInBrowser().filter(isOfRules)
  const named = found.map(line => line.replace(/program(\d+)\.ts/, (_, at) => `${names[at]}: `))
  assert.deepEqual(named, [])
})

let lines: readonly string[] | undefined

/** One compilation for all: it takes a second of CPU. */
function errorsInBrowser(): readonly string[] {
  lines ??= errorsIn([USES + MISTAKES.join('\n'), ...Object.values(RULES)])
    .split('\n')
    .filter(line => /^\S/.test(line))
  return lines
}

function isOfRules(line: string): boolean {
  return /program[1-9]\d*\.ts\(/.test(line)
}

const SUBPATHS: Record<string, string | { default: string }> = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'),
).exports

function errorsIn(programs: readonly string[], more: object = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'adoption-types-'))
  try {
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    const paths = Object.fromEntries(
      Object.entries(SUBPATHS).map(([subpath, target]) => [
        `animal-adoption-store${subpath.slice(1)}`,
        [join(ROOT, (typeof target === 'string' ? target : target.default).replace(/js$/, 'd.ts'))],
      ]),
    )
    const compilerOptions = { ...BROWSER.compilerOptions, ...more, paths }
    const files = programs.map((_, at) => `program${at}.ts`)
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
    for (const [at, program] of programs.entries()) {
      writeFileSync(join(folder, `program${at}.ts`), program)
    }
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    return spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' }).stdout
  } finally {
    rmSync(folder, { recursive: true })
  }
}
