import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'

const BENCH = new URL('../', import.meta.url)
export const GUIDE = new URL('README.md', BENCH)
export const README = new URL('../../README.md', BENCH)

/** Replaces what stands between the lines `<!-- bench:name -->` and `<!-- /bench -->`. */
export function publish(page, name, text) {
  const before = readFileSync(page, 'utf8')
  const section = new RegExp(`(<!-- bench:${name} -->\\n)[^]*?(<!-- /bench -->)`)
  if (!section.test(before)) throw new Error(`${page.pathname} has no section bench:${name}`)
  writeFileSync(
    page,
    before.replace(section, (_, start, end) => `${start}${text}\n${end}`),
  )
}

export function publishChart(name, svg) {
  mkdirSync(new URL('charts/', BENCH), { recursive: true })
  writeFileSync(new URL(`charts/${name}.svg`, BENCH), svg)
}
