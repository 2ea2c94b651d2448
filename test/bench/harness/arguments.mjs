/**
 * Reads `--name value` from the command line over the defaults, whose types decide how. Lists are
 * separated by commas.
 */
export function readArguments(defaults) {
  const values = { ...defaults }
  for (let at = 2; at < process.argv.length; at += 2) {
    const [flag, text = ''] = process.argv.slice(at, at + 2)
    const name = flag.replace(/^--/, '')
    if (!(name in defaults)) {
      console.error(
        `Unknown option ${flag}; expected one of --${Object.keys(defaults).join(', --')}`,
      )
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
