import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { nearestFirst } from '../../src/lib/nearest.js'
import { DIGEST } from '../../src/protocol/api-keys.js'
import { listen } from '../http/listen.js'
import { reportText } from '../test-double/verdict/report.js'
import { RULES } from '../test-double/verdict/rules.js'
import { openControlled, readApiKeys, readInitial } from './environment.js'
import { type Flags, UsageError } from './flags.js'

/**
 * Runs a command next to a private store, and prints the verdict on everything it sent.
 *
 * @returns the exit code: the command's own, or 1 when `--strict` fails
 * @throws UsageError
 */
export async function exec(flags: Flags, words: readonly string[]): Promise<number> {
  const [command, ...rest] = words
  if (!command) throw new UsageError('exec needs a command: exec -- <command>')
  checkAllowed(flags)
  const apiKeys = await readApiKeys(flags)
  const apiKey = Object.keys(apiKeys).find(key => !key.startsWith(DIGEST))
  if (apiKey === undefined) {
    throw new UsageError(
      `exec has no key to pass on: --keys ${flags.keys} holds digests only; add a key in plain text`,
      '--keys',
    )
  }
  const initial = await readInitial({ ...flags, empty: flags.seed === undefined })
  const { handler, double } = await openControlled(flags, apiKeys, initial)
  const server = await listen(handler, { port: 0 })
  try {
    const child = spawn(command, rest, {
      stdio: 'inherit',
      env: {
        ...process.env,
        ADOPTION_STORE_BASE_URL: server.url,
        ADOPTION_STORE_API_KEY: apiKey,
        ADOPTION_STORE_CONTROL_URL: `${server.origin}/_control`,
      },
    })
    const code = await exitCode(child, command)
    const report = double.report({ since: 'start' })
    process.stderr.write(reportText(report))
    const isProven = report.ok && report.requests > 0
    return code === 0 && flags.strict && !isProven ? 1 : code
  } finally {
    try {
      await double.close()
    } finally {
      await server.close()
    }
  }
}

function checkAllowed({ allow }: Flags): void {
  const rules: readonly string[] = RULES.map(({ id }) => id)
  const unknown = allow?.split(',').find(rule => !rules.includes(rule))
  if (unknown === undefined) return
  const known = nearestFirst(unknown, rules).join(', ')
  throw new UsageError(
    `--allow takes a rule of the verdict, got '${unknown}'; expected one of ${known}`,
    '--allow',
  )
}

/** Forwards every signal until the command has ended. */
async function exitCode(child: ChildProcess, command: string): Promise<number> {
  const forward = (signal: NodeJS.Signals) => {
    // A terminal also signals the command.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, forward)
  try {
    return await endOf(child, command)
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
}

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

async function endOf(child: ChildProcess, command: string): Promise<number> {
  const started = once(child, 'spawn')
  const ended = once(child, 'exit')
  try {
    await started
  } catch (error) {
    ended.catch(() => {})
    const { code } = error as NodeJS.ErrnoException
    throw new UsageError(`exec cannot run ${command}: ${code}; is it installed and on the PATH?`)
  }
  const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null]
  return code ?? 128 + constants.signals[signal as NodeJS.Signals]
}
