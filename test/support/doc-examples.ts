import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './paths.js'

/** The `@example` in the doc comment of an exported declaration. */
export interface DocExample {
  readonly path: string
  readonly name: string
  /** Undefined where there is none. */
  readonly code: string | undefined
}

const DECLARATION =
  /^(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n)?export (?:async )?(?:function|interface|type) (\w+)/gm

/** Of every exported function and type in the sources of the package. */
export function readDocExamples(): DocExample[] {
  const paths = ['src', 'adapters'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(path =>
      join(folder, path),
    ),
  )
  return paths
    .filter(path => path.endsWith('.ts'))
    .flatMap(path =>
      [...readFileSync(join(ROOT, path), 'utf8').matchAll(DECLARATION)].map(
        ([, doc = '', name = '']) => ({ path, name, code: exampleIn(doc) }),
      ),
    )
}

function exampleIn(doc: string): string | undefined {
  const [, example] = doc.split(' * @example\n')
  return example?.replace(/^ \* ?/gm, '').trim()
}

/** The info string for `testCodeBlocks`; undefined for examples that need a browser. */
export function infoOf(code: string): string | undefined {
  if (code.includes('/indexeddb')) return undefined
  if (/(postgres|redis):\/\//.test(code)) return 'js engines'
  if (code.includes('/sqlite')) return 'js sqlite'
  if (code.includes('127.0.0.1:4280')) return 'js server'
  return code.includes('node:test') ? 'js test' : 'js'
}
