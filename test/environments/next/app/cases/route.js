import { runCases } from '../../../cases.mjs'
import * as entry from '../../../node.mjs'

export const dynamic = 'force-dynamic'

export async function GET() {
  const { send } = entry
  return Response.json(await runCases(entry, { address: process.env.ADDRESS, send }))
}
