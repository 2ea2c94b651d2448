/**
 * Reads `--name value` from the command line over the defaults, whose types decide how. Lists are
 * separated by commas; a name whose default is a boolean takes no value.
 */
export function readArguments(defaults) {
  const values = { ...defaults }
  const words = process.argv.slice(2)
  while (words.length > 0) {
    const flag = words.shift()
    const name = flag.replace(/^--/, '')
    if (!(name in defaults)) {
      console.error(
        `Unknown option ${flag}; expected one of --${Object.keys(defaults).join(', --')}`,
      )
      process.exit(2)
    }
    values[name] = defaults[name] === false ? true : parse(words.shift() ?? '', defaults[name])
  }
  return values
}

function parse(text, like) {
  if (Array.isArray(like)) return text.split(',').map(item => parse(item, like[0]))
  return typeof like === 'number' ? Number(text) : text
}
