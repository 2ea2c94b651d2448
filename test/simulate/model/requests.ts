import type { WireRequest } from '../network.js'

/** An error that a request gets whatever is stored, by the rules alone. */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly words: readonly string[]
}

/** When GET of one animal is removed (spec §4). */
export const SUNSET = Date.UTC(2030, 11, 5)

export function tokenOf({ headers }: WireRequest): string | undefined {
  return /^Bearer (\S+)$/.exec(headers['authorization'] ?? '')?.[1]
}

/** Of a GET of one animal: its id as it is sent. */
export function petIdOf({ target }: Pick<WireRequest, 'target'>): string | undefined {
  return /^\/v1\/pets\/(\d+)$/.exec(target)?.[1]
}

/** @param isKnown whether its API key is valid */
export function failureOf(
  request: WireRequest,
  isKnown: boolean,
  now: number,
): Failure | undefined {
  if (!isKnown) return { status: 401, code: 'unauthorized', words: ['not valid'] }
  if (petIdOf(request) === undefined || now < SUNSET) return undefined
  return { status: 410, code: 'gone', words: ['on 2030-12-05;', 'GET /pets'] }
}

export function queryOf(target: string): URLSearchParams {
  return new URLSearchParams(/\?(.*)/.exec(target)?.[1])
}
