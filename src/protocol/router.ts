import { type ApiError, methodNotAllowed, notFound } from '../api-error.js'

/** An operation, or its failure: 404 or 405. */
export type Route = OperationRoute | { readonly operation?: never; readonly failure: ApiError }

export type OperationRoute =
  | { readonly operation: 'listPets' | 'createPet'; readonly failure?: never }
  | { readonly operation: 'getPet'; readonly petId: number; readonly failure?: never }

/** Routes paths below a base path; undefined for paths outside it. */
export function createRouter(
  basePath: string,
): (method: string, path: string) => Route | undefined {
  const collection = `${basePath}/pets`
  const items = `${collection}/`

  return (method, encoded) => {
    const path = decodeUnreserved(encoded)
    if (!isBelow(basePath, path)) return undefined
    const read = method === 'GET' || method === 'HEAD'
    if (path === collection) {
      if (read) return LIST_PETS
      if (method === 'POST') return CREATE_PET
      return { failure: methodNotAllowed(method, 'GET, HEAD, POST') }
    }
    if (!path.startsWith(items) || path === items || path.includes('/', items.length)) {
      return { failure: notFound('There is no such resource.') }
    }
    if (!read) return { failure: methodNotAllowed(method, 'GET, HEAD') }
    const id = path.slice(items.length)
    // NaN is an unknown id.
    return { operation: 'getPet', petId: /^[1-9]\d*$/.test(id) ? Number(id) : Number.NaN }
  }
}

const LIST_PETS: Route = { operation: 'listPets' }
const CREATE_PET: Route = { operation: 'createPet' }

function isBelow(basePath: string, path: string): boolean {
  return (
    path.startsWith(basePath) && (path.length === basePath.length || path[basePath.length] === '/')
  )
}

/** Decodes unreserved characters, which mean the same encoded or plain (RFC 3986 §6.2.2.2). */
function decodeUnreserved(path: string): string {
  if (!path.includes('%')) return path
  return path.replace(/%[0-9A-Fa-f]{2}/g, encoded => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return /[\w.~-]/.test(character) ? character : encoded
  })
}
