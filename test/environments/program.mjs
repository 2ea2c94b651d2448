// Prints the outcome.
import { runCases } from './cases.mjs'
import * as entry from './node.mjs'

runCases(entry, { address: process.env.ADDRESS, send: entry.send }).then(outcome => {
  console.log(JSON.stringify(outcome))
  process.exit()
})
