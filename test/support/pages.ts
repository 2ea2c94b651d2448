import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { ROOT } from './paths.js'

/** A Markdown file of the repository. */
export interface Page {
  /** Relative to the root, such as `adapters/http/README.md`. */
  readonly path: string
  readonly text: string
}

export interface CodeBlock {
  readonly line: number
  /** The text after the fence, such as `js test`. */
  readonly info: string
  readonly code: string
}

export function readPages(): Page[] {
  const nested = ['src', 'adapters', 'test'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(path =>
      join(folder, path),
    ),
  )
  return [...readdirSync(ROOT), ...nested]
    .filter(path => path.endsWith('.md') && !path.includes('node_modules'))
    .sort()
    .map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

/** The code of the blocks of a page with that info string. */
export function blocksOf(path: string, info: string): string[] {
  const page = { path, text: readFileSync(join(ROOT, path), 'utf8') }
  return codeBlocks(page).flatMap(block => (block.info === info ? [block.code] : []))
}

export function codeBlocks({ text }: Page): CodeBlock[] {
  return [...text.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(
    ({ index, 1: info = '', 2: code = '' }) => ({ line: lineAt(text, index), info, code }),
  )
}

/** The links to files of this repository: the page they lead to and the anchor within it. */
export function localLinks(page: Page): { line: number; path: string; anchor: string }[] {
  const links = [...withoutCode(page.text).matchAll(/\]\(([^)\s]+)\)/g)]
  return links
    .filter(({ 1: target = '' }) => !/^[a-z]+:/.test(target))
    .map(({ index, 1: target = '' }) => {
      const [file = '', anchor = ''] = target.split('#')
      const path = file === '' ? page.path : relative('.', join(dirname(page.path), file))
      return { line: lineAt(page.text, index), path, anchor }
    })
}

/** The files and folders of this repository that it names in code spans; no patterns. */
export function namedFiles({ text }: Page): string[] {
  const spans = withoutCode(text).matchAll(/`((?:src|adapters|test|\.ci)\/[\w./-]*)`/g)
  return [...spans].map(([, path = '']) => path)
}

/** The anchors of its headings, as GitHub makes them. */
export function anchors({ text }: Page): Set<string> {
  const known = new Set<string>()
  for (const { 1: heading = '' } of withoutCode(text).matchAll(/^#+ (.+)$/gm)) {
    const slug = heading
      .toLowerCase()
      .replace(/\[(.+?)\]\(.+?\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let count = 1; known.has(anchor); count++) anchor = `${slug}-${count}`
    known.add(anchor)
  }
  return known
}

/** Blanks what is not prose, so that every line keeps its number. */
function withoutCode(text: string): string {
  return text.replace(/^```.*\n[\s\S]*?^```$/gm, block => block.replace(/[^\n]/g, ' '))
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
