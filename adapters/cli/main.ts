#!/usr/bin/env node
// Nothing else is imported here, so that an old Node still gets as far as this line.
const major = Number(process.versions.node.split('.')[0])
if (major < 20) {
  process.stderr.write(
    `animal-adoption-store needs Node 20 or newer, this is ${process.versions.node}; install a newer Node.\n`,
  )
  process.exit(1)
}
// Without `await`, which CommonJS does not have here.
import('./run.js').then(({ run }) => run(process.argv.slice(2)))
