import { createStore } from 'animal-adoption-store'
import { toFetchHandler } from 'animal-adoption-store/fetch'
import { memoryStorage } from 'animal-adoption-store/memory'
import type { NextRequest } from 'next/server'

const store = createStore({ storage: memoryStorage(), apiKeys: {} })

const handler = toFetchHandler(store)
export const GET = handler
export const POST = handler

export const called: (
  request: NextRequest,
  context: { params: Promise<object> },
) => Promise<Response> = GET
