import { execFile, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { folder } from './children.mjs'
import { loadFromNode } from './load-from-node.mjs'

const { stdout: answer } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
const [, version] = /^wrk \D*([\d.]+)/.exec(answer) ?? []

/** What generates the load, for the line above the tables. */
export const GENERATOR = version
  ? `wrk ${version}`
  : 'the load generator in JavaScript, as wrk is not installed'

/**
 * Keeps `connections` connections busy for some seconds, with one request at a time on each.
 *
 * @returns requests per second, p50 and p99 in ms, and the number of failed requests
 */
export const load = version ? loadFromWrk : loadFromNode

/** wrk sends a workload of one request without calling into Lua. */
async function loadFromWrk({ origin, workload, connections, seconds }) {
  const { stdout } = await promisify(execFile)('wrk', [
    '--threads=1',
    `--connections=${connections}`,
    `--duration=${seconds}s`,
    `--script=${scriptOf(workload)}`,
    origin,
  ])
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n{')))
}

let scripts = 0

function scriptOf({ requests }) {
  const path = join(folder, `${++scripts}.lua`)
  const [first] = requests
  // wrk counts the length of a body itself.
  const { 'Content-Length': _, ...headers } = first.headers
  const fields = Object.entries(headers).map(([name, value]) => `['${name}'] = '${value}'`)
  const lua = [
    `wrk.headers = { ${fields.join(', ')} }`,
    requests.length === 1 ? one(first) : several(requests),
    DONE,
  ]
  writeFileSync(path, lua.join('\n'))
  return path
}

function one({ method, path, body }) {
  return `wrk.method, wrk.path, wrk.body = '${method}', '${path}', ${body ? `'${body}'` : 'nil'}`
}

function several(requests) {
  return `local paths = { ${requests.map(({ path }) => `'${path}'`).join(', ')} }
local requests, at = {}, 0
function init()
  for n, path in ipairs(paths) do requests[n] = wrk.format('${requests[0].method}', path) end
end
function request()
  at = at % #requests + 1
  return requests[at]
end`
}

const DONE = `function done(summary, latency)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  io.write(string.format('\\n{"count":%d,"rate":%f,"p50":%f,"p99":%f,"failed":%d}\\n',
    summary.requests, summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, failed))
end`
