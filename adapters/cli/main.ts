#!/usr/bin/env node
import { neededNode } from './version.js'

// An old Node must get as far as this line, so nothing else is imported.
const needed = neededNode()
if (isOlder(process.versions.node, needed)) {
  process.stderr.write(
    `animal-adoption-store needs Node ${needed} or newer, this is ${process.versions.node}; install a newer Node.\n`,
  )
  process.exit(1)
}
// CommonJS has no top-level `await`.
import('./program.js').then(({ run }) => run(process.argv.slice(2)))

function isOlder(node: string, needed: string): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = needed.split('.').map(Number)
  return major < neededMajor || (major === neededMajor && minor < neededMinor)
}
