/** `node harness/import-one.mjs MODULE,…`: prints the time and the modules that importing them costs. */
import { Session } from 'node:inspector'

const before = process.memoryUsage.rss()
const start = performance.now()
for (const module of process.argv[2].split(',')) await import(module)
const ms = performance.now() - start
const added = (process.memoryUsage.rss() - before) / 2 ** 20
const http = process.moduleLoadList.includes('NativeModule _http_server') ? 'yes' : 'no'
console.log(JSON.stringify({ ms, added, http, packages: packages(scripts()) }))

/** The files that V8 has compiled, from the inspector. */
function scripts() {
  const urls = []
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params }) => urls.push(params.url))
  session.post('Debugger.enable')
  return urls
}

function packages(urls) {
  const names = urls.map(url => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1])
  return [...new Set(names)].filter(Boolean).sort()
}
