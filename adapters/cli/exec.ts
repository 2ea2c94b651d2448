import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import { listen } from '../http/listen.js'
import { reportText } from '../test-double/verdict/report.js'
import { keysOf, openControlled } from './environment.js'
import { type Flags, UsageError } from './flags.js'

/**
 * Runs a command with a private store beside it, says at its end what the client did wrong, and
 * gives the exit code: the command's own, or 1 for a broken rule with `--strict`.
 */
export async function exec(flags: Flags, words: readonly string[]): Promise<number> {
  const [command, ...rest] = words
  if (command === undefined) throw new UsageError('exec needs a command: exec -- <command>')
  const apiKeys = await keysOf(flags)
  const { handler, double } = await openControlled(
    { ...flags, empty: flags.seed === undefined },
    apiKeys,
  )
  const server = await listen(handler, { port: 0 })
  try {
    const controlUrl = `${server.origin}/_control`
    await assertOurs(controlUrl)
    const child = spawn(command, rest, {
      stdio: 'inherit',
      env: {
        ...process.env,
        ADOPTION_STORE_BASE_URL: server.url,
        ADOPTION_STORE_API_KEY: Object.keys(apiKeys)[0],
        ADOPTION_STORE_CONTROL_URL: controlUrl,
      },
    })
    const code = await exitCode(child, command)
    const report = double.report()
    process.stderr.write(reportText(report))
    return code === 0 && flags.strict && !report.ok ? 1 : code
  } finally {
    await double.close()
    await server.close()
  }
}

/** What answers there may be another process, which took the port over in the meantime. */
async function assertOurs(controlUrl: string): Promise<void> {
  const answer = await fetch(`${controlUrl}/health`, { headers: { connection: 'close' } })
  const { pid } = (await answer.json()) as { pid?: unknown }
  if (pid !== process.pid) throw new Error(`${controlUrl} is answered by another process`)
}

/** Hands every signal on, and waits for the end. */
async function exitCode(child: ChildProcess, command: string): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // A terminal has sent it to the command as well.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
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
