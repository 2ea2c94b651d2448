import { runCases } from '../../cases.mjs'
import * as entry from '../../node.mjs'

export default defineEventHandler(() => {
  const { send } = entry
  return runCases(entry, { address: process.env.ADDRESS, send })
})
