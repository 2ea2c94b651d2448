import { toFetchHandler } from 'animal-adoption-store/fetch'
import { store } from '../../../lib/store.js'

export const GET = toFetchHandler(store)
export const POST = GET
