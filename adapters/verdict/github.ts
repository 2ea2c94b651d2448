/** Reads the variables of GitHub Actions; nothing else does. */
const host: { readonly process?: Partial<NodeJS.Process> } = globalThis

function variable(name: string): string | undefined {
  try {
    return host.process?.env?.[name]
  } catch {
    // Deno grants no variables without being asked.
    return undefined
  }
}

export function isOnGitHub(): boolean {
  return variable('GITHUB_ACTIONS') === 'true'
}

export function workspace(): string {
  return variable('GITHUB_WORKSPACE') ?? host.process?.cwd?.() ?? ''
}

export function summaryFile(): string | undefined {
  return isOnGitHub() ? variable('GITHUB_STEP_SUMMARY') : undefined
}
