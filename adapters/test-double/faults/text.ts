import { check, isObject, isText, OptionError } from '../../../src/lib/check-options.js'
import { nearestFirst } from '../../../src/lib/did-you-mean.js'
import { toJson } from '../../../src/lib/json.js'
import { KINDS, kindOf } from '../../verdict/log/fault-kinds.js'
import {
  checkFault as checkFields,
  type Fault,
  type FaultScope,
  inMs,
  SCOPE_OPTIONS,
} from './fault.js'

/**
 * Reads the text form of a fault: its kind, its argument after a colon, `-after` for a status once
 * the operation has run, and any other fields as JSON.
 * `reset` · `delay:31s` · `status:503` · `status:503-after` · `status:503{"retryAfter":2}`
 * @param name source of the text, for messages
 */
export function parseFault(name: string, text: string, scope: Scope = ANY_REQUEST): Fault {
  const { kind, argument, json } = /^(?<kind>\w*)(?::(?<argument>[^{]*))?(?<json>\{.*)?$/s.exec(
    text,
  )?.groups ?? { kind: text }
  if (!isKind(kind)) throw wrong(name, `one of ${nearestFirst(text, EXAMPLES).join(', ')}`, text)
  const fields = json === undefined ? {} : readFields(name, text, json)
  const read = readArgument(name, kind, argument, text)
  return checkFault(name, { kind, ...read, ...fields } as Fault, scope)
}

/** Returns the text form of a fault, without its scope. */
export function faultText(fault: Fault): string {
  const own = Object.entries(fault).filter(([name]) => !SCOPE.includes(name))
  return wholeText(Object.fromEntries(own) as unknown as Fault)
}

export function wholeText({ kind, ...fields }: Fault): string {
  const form = kindOf(kind).text
  if (!form) return kind + fieldsText(fields)
  const [argument, others] = form.write(fields)
  return `${kind}:${argument}${fieldsText(others)}`
}

export function checkFault(name: string, fault: Fault, scope: Scope = ANY_REQUEST): Fault {
  check(name, fault, isObject)
  for (const field of [...SCOPE, 'jitter', 'real']) {
    if (!(field in fault) || (scope as readonly string[]).includes(field)) continue
    const expected = `without \`${field}\`: it comes to one request at a time, and what it does is certain`
    throw new OptionError({ option: name, expected, got: `one with \`${field}\`` })
  }
  try {
    checkFields(fault, isText)
    return inMs(fault)
  } catch (error) {
    const { expected, got, message } = error as OptionError
    throw new OptionError({ option: name, expected, got }, `Invalid \`${name}\`: ${message}`)
  }
}

type Scope = readonly (keyof FaultScope)[]

const ANY_REQUEST: Scope = ['operation', 'keyId']

const SCOPE = Object.keys(SCOPE_OPTIONS)

const EXAMPLES = KINDS.flatMap(kind => kindOf(kind).text?.examples ?? [kind])

function isKind(kind: string | undefined): kind is Fault['kind'] {
  return KINDS.includes(kind as Fault['kind'])
}

function readArgument(
  name: string,
  kind: Fault['kind'],
  argument: string | undefined,
  text: string,
): object {
  const form = kindOf(kind).text
  if (!form && argument === undefined) return {}
  try {
    const read = form?.read(argument ?? '')
    if (read) return read
  } catch {
    // The error below names the whole text.
  }
  throw wrong(name, form?.expected ?? `${kind} without a value`, text)
}

function readFields(name: string, text: string, json: string): object {
  try {
    return JSON.parse(json)
  } catch {
    throw wrong(name, 'followed by fields as JSON, such as {"retryAfter":2}', text)
  }
}

function fieldsText(fields: object): string {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : toJson(Object.fromEntries(given))
}

function wrong(name: string, expected: string, text: string): OptionError {
  return new OptionError({ option: name, expected, got: `'${text.slice(0, 80)}'` })
}
