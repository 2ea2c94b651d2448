/** JSON with a line per member, and every number digit for digit; any other text as it is. */
export function prettyJson(text: string): string {
  if (!isJson(text)) return text
  let depth = 0
  const line = () => `\n${'  '.repeat(depth)}`
  return text.replace(TOKEN, (token, empty?: string) => {
    if (empty !== undefined) return empty.replace(/\s/g, '')
    if (token === ',') return `,${line()}`
    if (token === ':') return ': '
    if (token === '{' || token === '[') {
      depth++
      return token + line()
    }
    if (token === '}' || token === ']') {
      depth--
      return line() + token
    }
    return token.startsWith('"') ? token : ''
  })
}

/** Strings are matched first, so that nothing inside them is; numbers and words match nothing. */
const TOKEN = /"(?:[^"\\]|\\.)*"|(\{\s*\}|\[\s*\])|[{}[\],:]|\s+/g

function isJson(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
  } catch {
    return false
  }
}
