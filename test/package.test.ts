import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT, ROOT_URL } from './support/paths.js'

interface Manifest {
  version: string
  scripts: Record<string, string>
  allowScripts: Record<string, boolean>
}

interface Lock {
  packages: Record<
    string,
    {
      version: string
      integrity?: string
      resolved?: string
      libc?: string[]
      optionalDependencies?: Record<string, string>
    }
  >
}

const manifest: Manifest = JSON.parse(readFileSync(new URL('package.json', ROOT_URL), 'utf8'))
const { version, scripts, allowScripts } = manifest
const WORKFLOWS = new URL('.github/workflows/', ROOT_URL)

// `dependencies` builds a checkout, also inside an install from git; it never runs for consumers.
test('package - installing it runs no scripts, so npm asks for no approval', () => {
  const asked = ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare']
  const found = asked.filter(name => name in scripts)
  assert.deepEqual(found, [])
})

// In a checkout only: npm reads `allowScripts` of the project that it installs.
test('package - no dependency of the tests may run a script', () => {
  const allowed = Object.keys(allowScripts).filter(name => allowScripts[name])
  assert.deepEqual(allowed, [])
})

// npm drops other platforms from a lock file made beside an incomplete node_modules/.
test('package - the lock file has the packages of all platforms, and no addresses', () => {
  const lock: Lock = JSON.parse(readFileSync(new URL('package-lock.json', ROOT_URL), 'utf8'))
  const { '': root, ...locked } = lock.packages
  assert.equal(root?.version, version)
  for (const [path, { integrity, resolved, libc, optionalDependencies = {} }] of Object.entries(
    locked,
  )) {
    assert.match(integrity ?? '', /^sha512-/, path)
    assert.equal(resolved, undefined, path)
    assert.equal(libc, undefined, `${path}: renew the lock file with npm 10`)
    const missing = Object.keys(optionalDependencies).filter(
      name => !(`node_modules/${name}` in locked),
    )
    assert.deepEqual(missing, [], path)
  }
})

test('package - workflows pin the actions of others, and keep no token', () => {
  for (const name of readdirSync(WORKFLOWS)) {
    const text = readFileSync(new URL(name, WORKFLOWS), 'utf8')
    const actions = [...text.matchAll(/uses: (\S+)/g)].map(([, action = '']) => action)
    const moving = actions.filter(action => !/@[0-9a-f]{40}$/.test(action))
    // Its commit could not be confirmed by two sources when this was written.
    assert.deepEqual(moving, name === 'release.yml' ? ['actions/attest-build-provenance@v4'] : [])
    assert.match(text, /^permissions:( \{\}|\n {2}contents: read)$/m)
    assert.doesNotMatch(text, /secrets\./)
  }
})

test('package - a release has the notes of its version, and no other tag', () => {
  const notes = (tag: string) =>
    spawnSync(process.execPath, ['.ci/release-notes.mjs', tag], { cwd: ROOT, encoding: 'utf8' })
  const { status, stdout } = notes(`v${version}`)
  assert.equal(status, 0)
  assert.match(stdout, /^- /)
  assert.doesNotMatch(stdout, /^## /m)
  assert.match(notes('v0.0.1').stderr, /^The tag v0\.0\.1 is not v/)
})
