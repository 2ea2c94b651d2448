// For a page, a worker and a Service Worker.
import { runCases } from './cases.mjs'
import * as entry from './core.mjs'

export const run = (address = `${location.origin}/v1`) =>
  runCases(entry, { address, without: ['listen', 'server'] })
