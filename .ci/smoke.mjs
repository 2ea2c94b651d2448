// Waits up to five minutes for the banner of a server on the default port, then runs its curl command, with and without the key.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

const [, , bannerFile] = process.argv
let banner = ''
for (let tries = 0; tries < 6000 && !banner.includes('Ctrl+C'); tries++) {
  await new Promise(resolve => setTimeout(resolve, 50))
  banner = readFileSync(bannerFile, 'utf8')
}
console.log(banner)
const [command = ''] = /curl .*/.exec(banner) ?? []
expectAnswer(command, 200)
expectAnswer(command.replace(/ -H .*/, ''), 401)

function expectAnswer(command, status) {
  const output = execFileSync('sh', ['-c', `${command} -s`], { encoding: 'utf8' })
  console.log(`$ ${command}\n${output}\n`)
  if (!output.startsWith(`HTTP/1.1 ${status} `)) throw new Error(`Expected ${status}`)
  for (const name of ['Limit', 'Remaining', 'Reset']) {
    if (!new RegExp(`^X-RateLimit-${name}: \\d+\r$`, 'm').test(output)) {
      throw new Error(`Expected X-RateLimit-${name}`)
    }
  }
}
