import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The page for coding agents; its front matter says when to read it. */
export function skill(): Promise<string> {
  const manifest = createRequire(import.meta.url).resolve('animal-adoption-store/package.json')
  return readFile(join(dirname(manifest), 'adapters/cli/SKILL.md'), 'utf8')
}

/** The same as https://llmstxt.org describes it: a title, a summary, and the rest. */
export async function llmsText(): Promise<string> {
  const [, summary, title, rest] =
    /^---\n[\s\S]*?^description: (.*)\n---\n\n(# .*\n)([\s\S]*)$/m.exec(await skill()) ?? []
  return `${title}\n> ${summary}\n${rest}`
}
