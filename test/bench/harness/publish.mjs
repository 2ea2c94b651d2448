import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const BENCH = new URL('../', import.meta.url)
const PAGE = new URL('README.md', BENCH)

/** Replaces what stands in the page of this folder between the lines `<!-- bench:name -->` and `<!-- /bench -->`. */
export function publish(name, text) {
  const before = readFileSync(PAGE, 'utf8')
  const section = new RegExp(`(<!-- bench:${name} -->\\n)[^]*?(<!-- /bench -->)`)
  if (!section.test(before)) throw new Error(`${PAGE.pathname} has no section bench:${name}`)
  writeFileSync(
    PAGE,
    before.replace(section, (_, start, end) => `${start}${text}\n${end}`),
  )
}

export function publishChart(name, svg) {
  mkdirSync(new URL('charts/', BENCH), { recursive: true })
  writeFileSync(new URL(`charts/${name}.svg`, BENCH), svg)
}
