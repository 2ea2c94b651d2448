import { useEffect, useRef, useState } from 'preact/hooks'
import { authorization } from './token.js'

export interface Failure {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** Response text, unparsed because browsers round the numbers of int64. */
export interface Answer {
  readonly text?: string
  readonly failure?: Failure
}

/** Never rejects. */
export async function send(method: string, path: string, body?: string): Promise<Answer> {
  try {
    const response = await fetch(path, {
      method,
      headers: {
        ...authorization(),
        ...(method !== 'GET' && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return response.ok ? { text } : { failure: failureOf(response.status, text) }
  } catch {
    return { failure: { status: 0, code: 'unreachable', message: 'The server does not answer.' } }
  }
}

function failureOf(status: number, text: string): Failure {
  try {
    const { code, message } = JSON.parse(text)
    return { status, code: String(code), message: String(message) }
  } catch {
    return { status, code: 'unexpected', message: text.slice(0, 200) }
  }
}

/** Minimum ms between two readings of a path. */
const INTERVAL = 500

/** Reads JSON again soon after the revision changes. A failure keeps the previous value. */
export function useJson<T>(path: string, revision?: unknown) {
  const [answer, setAnswer] = useState<{ value?: T; failure?: Failure | undefined }>({})
  const latest = useRef({ path: '', question: 0 })
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const load = async () => {
    clearTimeout(timer.current)
    timer.current = undefined
    const question = ++latest.current.question
    const { text, failure } = await send('GET', path)
    // A later request may have overtaken this answer.
    if (question !== latest.current.question) return
    setAnswer(known => (text === undefined ? { ...known, failure } : { value: JSON.parse(text) }))
  }
  useEffect(() => {
    if (path === '') return
    if (latest.current.path === path) timer.current ??= setTimeout(load, INTERVAL)
    else void load()
    latest.current.path = path
  }, [path, revision])
  useEffect(
    () => () => {
      latest.current.question++
      clearTimeout(timer.current)
    },
    [],
  )
  return { ...answer, reload: load }
}

/** Paths of a world, relative to the page, which may be below a prefix. The main one is "". */
export function pathsOf(world: string) {
  const prefix = world === '' ? '.' : `./worlds/${encodeURIComponent(world)}`
  const query = world === '' ? '' : `world=${encodeURIComponent(world)}`
  return {
    api: (basePath: string) => `${prefix}${basePath}`,
    control: (command: string) => `${prefix}/_control/${command}`,
    console(name: string, parameters = '') {
      const all = [parameters, query].filter(Boolean).join('&')
      return `./_console/${name}${all && `?${all}`}`
    },
  }
}
