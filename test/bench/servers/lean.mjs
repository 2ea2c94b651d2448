import { serve as serveLimit } from './limit.mjs'

/** The limit with five headers: these three, and the two that Node adds to every response. */
const KEPT = ['Date', 'Content-Type', 'Content-Length']
export function serve(answers) {
  const lean = Object.entries(JSON.parse(answers)).map(([operation, { headers, ...answer }]) => {
    const kept = Object.entries(headers).filter(([name]) => KEPT.includes(name))
    return [operation, { ...answer, headers: Object.fromEntries(kept) }]
  })
  return serveLimit(JSON.stringify(Object.fromEntries(lean)))
}
