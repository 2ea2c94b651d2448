// The reporter of `npm run coverage`: failed tests, then the lines covered in src/ and adapters/, but for zod.
import { join, relative, sep } from 'node:path'

const LEAST = 95

export default async function* report(source) {
  for await (const { type, data } of source) {
    if (type === 'test:fail') yield `failed: ${data.name} (${data.file}:${data.line})\n`
    if (type === 'test:coverage') yield table(data.summary)
  }
}

function table({ files, workingDirectory }) {
  const shipped = files
    .map(file => ({ ...file, name: relative(`${workingDirectory}${sep}dist`, file.path) }))
    .filter(({ name }) => /^(src|adapters)\b/.test(name) && name !== join('src', 'lib', 'zod.js'))
  const least = shipped
    .filter(file => file.coveredLinePercent < LEAST)
    .sort((a, b) => a.coveredLinePercent - b.coveredLinePercent)
    .map(file => `${percent(file.coveredLinePercent)} ${file.name}\n`)
  return `${least.join('')}lines ${share(shipped, 'Line')}, branches ${share(shipped, 'Branch')}, functions ${share(shipped, 'Function')} of ${shipped.length} files\n`
}

function share(files, unit) {
  const sum = field => files.reduce((total, file) => total + file[field], 0)
  return percent((100 * sum(`covered${unit}Count`)) / sum(`total${unit}Count`))
}

function percent(value) {
  return `${value.toFixed(1)} %`
}
