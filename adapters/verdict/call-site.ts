import { workspace } from './github.js'

/** A line of code that sent a request, or asked for the verdict. */
export interface CallSite {
  /** Relative to the folder that GitHub has checked out, or to the current one, if it is in there. */
  readonly file: string
  readonly line: number
  readonly column: number
}

/** Wrappers may put many frames between a test and the call. */
const MOST_FRAMES = 50

/** The stack of a call, for `callSiteOf`. It becomes text, and source maps apply, when it is read. */
export function captureStack(): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = MOST_FRAMES
  const error = new Error()
  Error.stackTraceLimit = stackTraceLimit
  return error
}

/** The nearest caller outside of Node, of this package and of `node_modules`. */
export function callSiteOf({ stack = '' }: Error): CallSite | undefined {
  const folder = `${workspace().replaceAll('\\', '/').replace(/\/$/, '')}/`
  for (const [, location = '', line, column] of stack.matchAll(FRAME)) {
    const path = pathOf(location)
    if (path === undefined || path.includes('/node_modules/') || isOwn(path)) continue
    const file = path.startsWith(folder) ? path.slice(folder.length) : path
    return { file, line: Number(line), column: Number(column) }
  }
  return undefined
}

const FRAME = /^ +at (?:.*? \()?(.+?):(\d+):(\d+)\)?$/gm

/** With slashes; undefined for code of Node, or of no file. */
function pathOf(location: string): string | undefined {
  const path = location.replace(/^async /, '').replaceAll('\\', '/')
  if (/^(\/|[A-Za-z]:\/)/.test(path)) return path
  return /^file:\/\//.test(path)
    ? decodeURIComponent(path.replace(/^file:\/\/(\/(?=[A-Za-z]:\/))?/, ''))
    : undefined
}

function isOwn(path: string): boolean {
  own ??= ownFolders()
  return own.some(folder => path.startsWith(folder))
}

let own: readonly string[] | undefined

function ownFolders(): readonly string[] {
  const [, location = ''] = captureStack().stack?.matchAll(FRAME).next().value ?? []
  const [, base] = pathOf(location)?.match(/^(.*\/)(?:adapters\/verdict|commonjs)\/[^/]+$/) ?? []
  return base === undefined ? [] : ['adapters/', 'src/', 'commonjs/'].map(name => base + name)
}
