/** A failure as the server describes it: the Error body of the API. */
export interface Failure {
  readonly status: number
  readonly code: string
  readonly message: string
}

/** What the server answered: text, because browsers round the numbers of int64. */
export type Answer =
  | { readonly text: string; readonly failure?: never }
  | { readonly text?: never; readonly failure: Failure }

/** Sends a request to this server. Never rejects. */
export async function send(method: string, path: string, body?: string): Promise<Answer> {
  try {
    const response = await fetch(path, {
      method,
      ...(method !== 'GET' && { headers: { 'content-type': 'application/json' } }),
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return response.ok ? { text } : { failure: failureOf(response.status, text) }
  } catch {
    return { failure: { status: 0, code: 'unreachable', message: 'The server does not answer.' } }
  }
}

/** The JSON value of `GET path`; undefined when there is none. */
export async function read<T>(path: string): Promise<T | undefined> {
  const { text } = await send('GET', path)
  return text === undefined ? undefined : (JSON.parse(text) as T)
}

/** Paths of a world; '' is the main one. */
export function pathsOf(world: string) {
  const prefix = world === '' ? '' : `/worlds/${encodeURIComponent(world)}`
  const query = world === '' ? '' : `world=${encodeURIComponent(world)}`
  return {
    api: (basePath: string) => `${prefix}${basePath}`,
    control: (command: string) => `${prefix}/_control/${command}`,
    console(name: string, parameters = '') {
      const all = [parameters, query].filter(Boolean).join('&')
      return `/_console/${name}${all && `?${all}`}`
    },
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
