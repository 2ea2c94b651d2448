import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMMANDS, type Command } from '../adapters/cli/commands.js'
import { GENERAL, readOption } from '../adapters/cli/options.js'
import { check, type Declared } from '../src/lib/check-options.js'
import { CODE_URL, ROOT } from './support/paths.js'

const sources = ['src', 'adapters'].flatMap(folder =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter(path => path.endsWith('.ts'))
    .map(path => `${folder}/${path.replaceAll('\\', '/')}`),
)

// Everything that reads an option with such a default fails, and most of it does not say why.
test('defaults - every default is accepted by its own rule', async () => {
  const wrong: string[] = []
  const note = (where: string, read: () => unknown) => {
    try {
      read()
    } catch (error) {
      wrong.push(`${where}: ${(error as Error).message}`)
    }
  }
  for (const [command, { groups = {} }] of Object.entries<Command>(COMMANDS)) {
    for (const [name, option] of Object.values({ ...groups, GENERAL }).flatMap(Object.entries)) {
      note(`the default of ${command}`, () => readOption(name, option))
    }
  }
  for (const path of sources) {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const tables = [...text.matchAll(/^(?:export )?const (\w+_OPTIONS) = \{\n[\s\S]*?^\}/gm)]
    for (const [table, name = ''] of tables) {
      if (!table.includes('withDefault(')) continue
      const declared: Declared = (await import(`${CODE_URL}${path.replace(/ts$/, 'js')}`))[name]
      assert.ok(declared, `${path} must export ${name}`)
      for (const [option, rule] of Object.entries(declared)) {
        if ('default' in rule) note(`${path}, ${name}`, () => check(option, rule.default, rule))
      }
    }
  }
  assert.deepEqual(wrong, [])
})
