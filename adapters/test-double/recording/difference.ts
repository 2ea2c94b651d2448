import type { AnswerStep } from './file.js'

/** What is compared of two responses. */
export type ComparedResponse = Pick<AnswerStep, 'status' | 'headers' | 'body'>

/**
 * The first difference of two responses in one line, such as `status 503 instead of 201`; undefined
 * when there is none.
 *
 * @param isCompared says by its name, in lower case, whether a header counts
 */
export function differenceOfResponses(
  expected: ComparedResponse,
  got: ComparedResponse,
  isCompared: (header: string) => boolean = () => true,
): string | undefined {
  if (expected.status !== got.status) {
    return `status ${shownStatus(got.status)} instead of ${shownStatus(expected.status)}`
  }
  const [one, other] = [comparable(expected.headers), comparable(got.headers)]
  for (const name of [...new Set([...one.keys(), ...other.keys()])].filter(isCompared)) {
    const [was, is] = [one.get(name), other.get(name)]
    if (was !== is) return `header ${name} is ${shown(is)} instead of ${shown(was)}`
  }
  if (expected.body === got.body) return undefined
  return `body ${around(got.body, expected.body)} instead of ${around(expected.body, got.body)}`
}

function comparable(headers: AnswerStep['headers']): ReadonlyMap<string, string> {
  return new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function shownStatus(status: number): string {
  return status === 0 ? 'none' : String(status)
}

function shown(value: string | undefined): string {
  return value === undefined ? 'missing' : JSON.stringify(value.slice(0, MOST))
}

const MOST = 80

/** The part of a text that begins a little before it differs from the other, on one line. */
function around(text: string, other: string): string {
  let at = 0
  while (at < text.length && text[at] === other[at]) at++
  const from = Math.max(0, at - 20)
  const part = text.slice(from, from + MOST)
  return JSON.stringify(`${from > 0 ? '…' : ''}${part}${from + MOST < text.length ? '…' : ''}`)
}

/** Whether a header, by its name in lower case, depends on the time of the request. */
export function inTime(header: string): boolean {
  return /^(date|retry-after|x-ratelimit-(remaining|reset)|ratelimit)$/.test(header)
}

/** A response without the instants in its error message. */
export function withoutTimes<T extends ComparedResponse>(response: T): T {
  const body = response.status < 400 ? response.body : response.body.replaceAll(INSTANT, '…')
  return { ...response, body, headers: withoutLength(response.headers) }
}

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g

/** It follows from the body. */
function withoutLength(headers: AnswerStep['headers']): AnswerStep['headers'] {
  const kept = Object.entries(headers).filter(([name]) => !/^content-length$/i.test(name))
  return Object.fromEntries(kept)
}
