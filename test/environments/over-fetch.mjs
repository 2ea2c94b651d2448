// Prints the outcome of what sends, over the fetch of a package, or that of Node: over-fetch.mjs [package].
import { GROUPS, runCases } from './cases.mjs'
import * as entry from './core.mjs'

const address = process.env.ADDRESS
const [name] = process.argv.slice(2)
if (name === 'whatwg-fetch') {
  const { JSDOM } = await import('jsdom')
  const { XMLHttpRequest } = new JSDOM('', { url: address }).window
  Object.assign(globalThis, { self: globalThis, XMLHttpRequest })
}
const found = name ? await import(name) : globalThis
const fetch = found.fetch ?? found.default
const without = GROUPS.filter(group => !['client over fetch', 'judge'].includes(group))
console.log(JSON.stringify(await runCases(entry, { address, fetch, without })))
process.exit()
