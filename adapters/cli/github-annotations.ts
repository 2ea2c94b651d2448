import { appendFile } from 'node:fs/promises'
import { annotation, type Level } from '../verdict/annotations.js'
import { isOnGitHub, summaryFile } from '../verdict/github.js'
import { note, printError } from './print.js'

export interface Problem {
  readonly level: Level
  readonly title: string
  readonly text: string
  readonly cells: readonly [seen: string, fix: string]
}

/** GitHub shows ten errors of a step. */
const MOST_ANNOTATIONS = 10

/** @param hints next steps, such as the repeat command */
export async function tellGitHub(
  headline: string,
  problems: readonly Problem[],
  hints: readonly string[],
): Promise<void> {
  if (!isOnGitHub()) return
  for (const { level, title, text } of problems.slice(0, MOST_ANNOTATIONS)) {
    printError(annotation(level, title, [text.trimEnd(), ...hints].join('\n')))
  }
  const more = problems.length - MOST_ANNOTATIONS
  if (more > 0) printError(annotation('notice', 'animal-adoption-store', `and ${more} more`))
  const path = summaryFile()
  if (!path) return
  const rows = problems.map(
    ({ title, cells }) => `| ${[title, ...cells].map(inCell).join(' | ')} |`,
  )
  const table = rows.length > 0 ? ['| what | seen | fix |', '|---|---|---|', ...rows, ''] : []
  const lines = [`### ${inCell(headline)}`, '', ...table, ...hints.map(hint => `- ${inCell(hint)}`)]
  await appendFile(path, `${lines.join('\n')}\n\n`).catch(({ code }: NodeJS.ErrnoException) =>
    note(`GITHUB_STEP_SUMMARY cannot be written: ${code}`),
  )
}

/** Escapes markup and cell separators that a client has sent. */
function inCell(text: string): string {
  return text
    .replace(/[|<>&`*_[\]\\]/g, character => `&#${character.charCodeAt(0)};`)
    .replace(/\s+/g, ' ')
}
