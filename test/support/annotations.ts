export interface Annotation {
  readonly level: string
  readonly properties: Readonly<Record<string, string>>
  readonly message: string
}

/**
 * The workflow commands in a log, as the runner parses them: a line that begins with `::` after any space, a name,
 * properties that commas divide, and after the next `::` the message. Escapes are decoded as it decodes them.
 */
export function readAnnotations(log: string): readonly Annotation[] {
  return log.split(/\r\n|\r|\n/).flatMap(line => {
    const [, level, list = '', message = ''] = /^\s*::(\S+?)(?: (.*?))?::(.*)$/.exec(line) ?? []
    if (level === undefined) return []
    const pairs = list.split(',').filter(pair => pair.includes('='))
    const properties = pairs.map(pair => {
      const [name = '', ...value] = pair.trim().split('=')
      return [name, unescaped(value.join('=')).replace(/%3A/g, ':').replace(/%2C/g, ',')]
    })
    return { level, properties: Object.fromEntries(properties), message: unescaped(message) }
  })
}

/** The percent sign last, so that what it stands for is not decoded twice. */
function unescaped(text: string): string {
  return text.replace(/%0D/g, '\r').replace(/%0A/g, '\n').replace(/%25/g, '%')
}
