import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { openRecording } from '../../../adapters/test-double/index.js'

// `node replay-all.js <file>`: replays the recordings of a file, each a line of JSON text, and prints
// the number of recordings and steps, or the first difference.
let [recordings, steps] = [0, 0]
for await (const line of createInterface(createReadStream(process.argv[2] ?? ''))) {
  const opened = await openRecording(JSON.parse(line) as string)
  const { double, difference } = await opened.replay()
  await double.close()
  recordings++
  steps += opened.steps.length
  if (difference) throw new Error(`recording ${recordings}: ${JSON.stringify(difference)}`)
}
process.stdout.write(`${process.version} ${recordings} ${steps}\n`)
