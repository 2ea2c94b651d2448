import { appendFile } from 'node:fs/promises'
import { annotation, type Level } from '../verdict/annotations.js'
import { isOnGitHub, summaryFile } from '../verdict/github.js'
import { note, printError } from './output.js'

/** What is wrong with a run, in a line of the log and a row of the summary. */
export interface Problem {
  readonly level: Level
  readonly title: string
  readonly text: string
  readonly cells: readonly [seen: string, fix: string]
}

/**
 * In a job of GitHub Actions, annotates each problem and adds a table to the summary; elsewhere nothing.
 *
 * @param hints what to do next, such as the command that repeats the run
 */
export async function tellGitHub(
  headline: string,
  problems: readonly Problem[],
  hints: readonly string[],
): Promise<void> {
  if (!isOnGitHub()) return
  for (const { level, title, text } of problems) {
    printError(annotation(level, title, [text.trimEnd(), ...hints].join('\n')))
  }
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

/** As text: what a client has sent is neither markup nor another cell. */
function inCell(text: string): string {
  return text
    .replace(/[|<>&`*_[\]\\]/g, character => `&#${character.charCodeAt(0)};`)
    .replace(/\s+/g, ' ')
}
