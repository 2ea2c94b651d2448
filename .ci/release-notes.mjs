// Prints what CHANGELOG.md says about the version of package.json: `node .ci/release-notes.mjs v1.2.0`.
// Fails if the tag names another version, or if the changelog says nothing about it.
import { readFileSync } from 'node:fs'

const [, , tag] = process.argv
const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m)
const section = sections.find(text => text.startsWith(`${version}\n`)) ?? ''
const notes = section.slice(version.length).trim()

if (tag !== `v${version}`) fail(`The tag ${tag} is not v${version}, the version of package.json.`)
if (notes === '') fail(`CHANGELOG.md has no notes below "## ${version}".`)
console.log(notes)

function fail(message) {
  console.error(message)
  process.exit(1)
}
