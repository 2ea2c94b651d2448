import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ROOT_URL } from './support/paths.js'

const { scripts, allowScripts } = JSON.parse(
  readFileSync(new URL('package.json', ROOT_URL), 'utf8'),
) as { scripts: Record<string, string>; allowScripts: Record<string, boolean> }

// `dependencies` builds a checkout, also inside an install from git; it never runs for consumers.
test('package - installing it runs no scripts, so npm asks for no approval', () => {
  const asked = ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare']
  assert.deepEqual(
    asked.filter(name => name in scripts),
    [],
  )
})

// In a checkout only: npm reads `allowScripts` of the project that it installs.
test('package - one dependency of the tests may run a script, to get its binary', () => {
  const allowed = Object.keys(allowScripts).filter(name => allowScripts[name])
  assert.deepEqual(allowed, ['better-sqlite3'])
})
