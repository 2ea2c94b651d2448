import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { BUILD_URL, CODE_URL, ROOT_URL } from './support/paths.js'

const SOURCES = new URL('src/', ROOT_URL)

/** Names that the compiler allows because every runtime has them, or because of a cast. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  randomness: /\bMath\s*\.\s*random\b|\bcrypto\b/,
  'the time of day': /\bDate\s*\.\s*now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\b/,
  console: /\bconsole\b/,
  timers: /\bset(Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/,
  process: /\bprocess\s*[.[?]|\bglobalThis\b|\bBuffer\b|\brequire\s*\(/,
  evaluation: /\beval\s*\(|\bnew Function\b/,
}
const PACKAGES = ['zod/mini', 'zod/locales', 'mitt', 'lossless-json']

test('purity - the core uses one clock and one timer, and nothing else of its environment', async () => {
  const found: string[] = []
  for (const { file, code } of await sources()) {
    for (const [what, pattern] of Object.entries(FORBIDDEN)) {
      for (const [text] of code.matchAll(new RegExp(pattern, 'g'))) {
        found.push(`${file}: ${what}: ${text}`)
      }
    }
  }
  assert.deepEqual(found.toSorted(), [
    'store.ts: the time of day: Date.now',
    'store.ts: timers: setTimeout',
    'store.ts: timers: setTimeout',
  ])
})

test('purity - the core imports only itself and three packages', async () => {
  const files = await sources()
  assert.ok(files.length > 15)
  for (const { file, code } of files) {
    const specifiers = code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"`]([^'"`]+)['"`]/g)
    for (const [, specifier = ''] of specifiers) {
      const { href } = new URL(specifier, new URL(file, SOURCES))
      const own = specifier.startsWith('.') && href.startsWith(SOURCES.href)
      assert.ok(own || PACKAGES.includes(specifier), `${file} imports ${specifier}`)
    }
  }
})

/** From the lowest to the highest. A file belongs to the first layer that begins its path. */
const LAYERS = [
  ['src/lib/', 'src/pets/specification', 'src/limits/plans', 'src/limits/windows-and-bans'],
  [
    'src/api-error',
    'src/pets/schema',
    'src/pets/pet',
    'src/pets/used-key',
    'src/ports',
    'src/events',
  ],
  ['src/limits/', 'src/pets/'],
  ['src/protocol/'],
  ['src/store', 'src/index'],
  ['adapters/access-rules', 'adapters/warnings', 'adapters/platform', 'adapters/index'],
  ['adapters/verdict/log/', 'adapters/stores/kit/', 'adapters/http/'],
  ['adapters/verdict/'],
  [
    'adapters/stores/memory',
    'adapters/stores/json-file/',
    'adapters/stores/postgres/',
    'adapters/redis/',
    'adapters/stores/sqlite/',
    'adapters/stores/indexeddb/',
  ],
  ['adapters/pages/openapi/', 'adapters/client/'],
  [
    'adapters/test-double/',
    'adapters/verdict/judge/',
    'adapters/verify/',
    'adapters/pages/console/',
  ],
  ['adapters/cli/'],
]

test('purity - no file imports from a higher layer, and every file has one', async () => {
  const backwards: string[] = []
  for (const [file, targets] of await importGraph()) {
    for (const to of targets) if (layerOf(to) > layerOf(file)) backwards.push(`${file} -> ${to}`)
  }
  assert.deepEqual(backwards, [])
})

function layerOf(file: string): number {
  const layer = LAYERS.findIndex(parts => parts.some(part => file.startsWith(part)))
  assert.ok(layer >= 0, `${file} belongs to no layer`)
  return layer
}

test('purity - there are no import cycles, not even of types', async () => {
  const imports = await importGraph()
  const circles: string[] = []
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      return
    }
    for (const next of imports.get(file) ?? []) walk(next, [...path, file])
    imports.delete(file)
  }
  const files = [...imports.keys()]
  assert.ok(files.some(file => file.endsWith('/console/page/app')))
  for (const file of files) walk(file, [])
  assert.deepEqual(circles, [])
})

test('purity - the core loads no package of an adapter and no server', async () => {
  const { urls, builtins } = await loadedBy(`
    const { createStore } = await import('${new URL('src/index.js', CODE_URL)}')
    const { memoryStorage } = await import('${new URL('adapters/stores/memory.js', CODE_URL)}')
    const store = createStore({ storage: memoryStorage(), apiKeys: { k: { id: 'k', plan: 'free' } } })
    const body = '{"name":"Rex","categoryId":9007199254740993}'
    const headers = { authorization: 'Bearer k' }
    await store.handle({ method: 'POST', path: '/v1/pets', query: '', headers, body })
  `)
  assert.ok(urls.some(url => /\/src\/store\.[jt]s$/.test(url)))
  const isBuilt = CODE_URL.href === BUILD_URL.href
  assert.deepEqual(packagesIn(urls), isBuilt ? ['mitt'] : ['lossless-json', 'mitt', 'zod'])
  for (const name of ['http', '_http_server', 'https']) assert.ok(!builtins.includes(name), name)
})

test('purity - one module imports zod', async () => {
  const importers: string[] = []
  for (const folder of ['src/', 'adapters/']) {
    for (const { file, code } of await sources(new URL(folder, ROOT_URL))) {
      if (/['"`]zod\b/.test(code)) importers.push(folder + file)
    }
  }
  assert.deepEqual(importers, ['src/lib/zod.ts'])
})

// Loading zod as published, with its messages in 64 languages, takes ten times as long.
test('purity - the build has zod in that module, with English only, and imports it nowhere', async () => {
  const holders: string[] = []
  const folders = ['src', 'adapters', 'commonjs']
  const files = (await Promise.all(folders.map(filesBelow))).flat()
  for (const file of files.filter(name => name.endsWith('js'))) {
    const code = await readFile(new URL(file, BUILD_URL), 'utf8')
    assert.doesNotMatch(code, /(from|import|require)\s*\(?\s*['"]zod\b/, file)
    if (code.includes('__zod_globalRegistry')) holders.push(file)
  }
  const bundles = ['commonjs/bundle.cjs'].filter(name => files.includes(name))
  assert.deepEqual(holders.toSorted(), [...bundles, 'src/lib/zod.js'].toSorted())
  const code = await readFile(new URL('src/lib/zod.js', BUILD_URL), 'utf8')
  assert.match(code, /Invalid input/)
  assert.doesNotMatch(code, /Ungültig|inválid|invalide/)
  assert.match(code, /^\/\*! zod \d+\.\d+\.\d+\n\nMIT License\n\nCopyright/)
})

test('purity - commands print through one file, which defuses what others have written', async () => {
  const writers: string[] = []
  for (const { file, code } of await sources(new URL('adapters/cli/', ROOT_URL))) {
    if (/\bstd(out|err)\.write\b|\bconsole\.(log|error|warn)\b/.test(code)) writers.push(file)
  }
  // main.ts runs on a Node that is too old, and prints only its version.
  assert.deepEqual(writers.toSorted(), ['main.ts', 'print.ts'])
})

/** The imports of each file of the package, types included; paths below the root, without extension. */
async function importGraph(): Promise<Map<string, string[]>> {
  const imports = new Map<string, string[]>()
  for (const folder of ['src/', 'adapters/']) {
    const root = new URL(folder, ROOT_URL)
    for (const { file, code } of await sources(root)) {
      const { href } = new URL(file, root)
      const specifiers = code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g)
      imports.set(
        pathOf(href),
        [...specifiers].map(([, to = '']) => pathOf(new URL(to, href).href)),
      )
    }
  }
  return imports
}

function packagesIn(urls: readonly string[]): string[] {
  const names = urls.flatMap(url => /\/node_modules\/([^/]+)\//.exec(url)?.[1] ?? [])
  return [...new Set(names)].toSorted()
}

function pathOf(href: string): string {
  return href.replace(ROOT_URL.href, '').replace(/\.[jt]sx?$/, '')
}

/** Of a folder of the build, if it has that one. */
async function filesBelow(folder: string): Promise<string[]> {
  const url = new URL(folder, BUILD_URL)
  if (!existsSync(url)) return []
  const names = await readdir(url, { recursive: true })
  return names.map(name => `${folder}/${name.replaceAll('\\', '/')}`)
}

/** Every file of a folder, without its comments. */
async function sources(root = SOURCES): Promise<{ file: string; code: string }[]> {
  const files = (await readdir(root, { recursive: true })).filter(name => /\.tsx?$/.test(name))
  return Promise.all(
    files.map(async file => {
      const text = await readFile(new URL(file, root), 'utf8')
      return { file, code: text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '') }
    }),
  )
}

/** Everything a fresh process loads to run a module: the URLs of files, the names of builtins. */
async function loadedBy(script: string): Promise<{ urls: string[]; builtins: string[] }> {
  const hooks = `
    import { writeSync } from 'node:fs'
    export async function load(url, context, next) {
      writeSync(1, url + '\\n')
      return next(url, context)
    }
  `
  const program = `
    import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hooks)}`)})
    ${script}
    console.log(JSON.stringify(process.moduleLoadList))
  `
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  const lines = stdout.trim().split('\n')
  const parts = JSON.parse(lines.at(-1) ?? '') as string[]
  return {
    urls: lines.slice(0, -1),
    builtins: parts.map(part => part.replace(/^NativeModule /, '')),
  }
}
