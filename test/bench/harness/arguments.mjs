/**
 * `--name value` of the command line over the defaults; a default says of which type it is. Lists
 * are separated by commas.
 */
export function readArguments(defaults) {
  const values = { ...defaults }
  for (let at = 2; at < process.argv.length; at += 2) {
    const [flag, text = ''] = process.argv.slice(at, at + 2)
    const name = flag.replace(/^--/, '')
    if (!(name in defaults)) {
      console.error(`Expected options among --${Object.keys(defaults).join(', --')}, got ${flag}`)
      process.exit(2)
    }
    values[name] = parse(text, defaults[name])
  }
  return values
}

function parse(text, like) {
  if (Array.isArray(like)) return text.split(',').map(item => parse(item, like[0]))
  return typeof like === 'number' ? Number(text) : text
}
