/**
 * Where a text stops being JSON, such as ` at line 2, column 4: Colon ':' expected`. Nothing of the
 * text itself is shown, as it may contain secrets. Empty when the place is unknown.
 */
export async function describeSyntaxError(text: string): Promise<string> {
  // Node 20 does not always know the position.
  const { parse } = await import('lossless-json')
  try {
    parse(text)
    return ''
  } catch (error) {
    const { message } = error as Error
    const [, problem = '', position] = /^(.*) at position (\d+)$/s.exec(message) ?? []
    if (position === undefined) return ''
    const before = text.slice(0, Number(position)).split('\n')
    const column = (before.at(-1)?.length ?? 0) + 1
    const rule = problem.replace(/ but .*|^(Invalid [a-z ]+[a-z]).*/s, '$1')
    return ` at line ${before.length}, column ${column}: ${rule}`
  }
}
