import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  API,
  type Symbol as ApiSymbol,
  type Checker,
  type Project,
  type Signature,
  SignatureKind,
  SymbolFlags,
  type Type,
} from 'typescript/unstable/sync'
import { ROOT } from './paths.js'

/** A field or a parameter that users write or read. */
export interface PublicName {
  /** Where it was found first, such as `Client.listPets(query)`. */
  readonly path: string
  readonly name: string
  readonly kind: 'field' | 'parameter'
  /** As TypeScript writes it, such as `Duration | undefined`. */
  readonly type: string
}

/** All that the declarations of the build show: what each subpath exports, and the names within it. */
export interface PublicApi {
  /** By subpath, the exported names with the place of their declaration. */
  readonly exports: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly names: readonly PublicName[]
}

/** Read once: it takes half a second of CPU. */
let known: PublicApi | undefined

export function readPublicApi(): PublicApi {
  known ??= read()
  return known
}

function read(): PublicApi {
  const entries = declarationsOf(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))
  const config = join(ROOT, 'public-api.json')
  const compilerOptions = {
    ...{ module: 'NodeNext', target: 'ES2022', lib: ['ESNext', 'DOM'], types: ['node'] },
    ...{ strict: true, noEmit: true, skipLibCheck: true },
  }
  const text = JSON.stringify({ compilerOptions, files: [...entries.values()] })
  const api = new API({
    cwd: ROOT,
    fs: {
      readFile: path => (path === config ? text : undefined),
      fileExists: path => (path === config ? true : undefined),
    },
  })
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)
    return walk(project as Project, entries)
  } finally {
    api.close()
  }
}

type Exports = Readonly<Record<string, string | { readonly default: string }>>

/** The declarations of each subpath that has code. */
function declarationsOf({ exports }: { readonly exports: Exports }): Map<string, string> {
  return new Map(
    Object.entries(exports).flatMap(([subpath, target]) => {
      const file = typeof target === 'string' ? target : target.default
      const declarations = join(ROOT, file.replace(/\.js$/, '.d.ts'))
      return file.endsWith('.js') ? [[subpath, declarations] as const] : []
    }),
  )
}

function walk({ checker, program }: Project, entries: ReadonlyMap<string, string>): PublicApi {
  const exports = new Map<string, ReadonlyMap<string, string>>()
  const names: PublicName[] = []
  const seen = new Set<number>()
  for (const [subpath, file] of entries) {
    const source = program.getSourceFile(file)
    const module = source && checker.getSymbolAtLocation(source)
    const exported = module ? checker.getExportsOfModule(module) : []
    const places = new Map<string, string>()
    exports.set(subpath, places)
    for (const symbol of exported) {
      const target = symbol.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      places.set(
        symbol.name,
        target.declarations.map(({ path, index }) => `${path}:${index}`).join(),
      )
      for (const type of typesOf(checker, target)) visit(type, symbol.name)
    }
  }
  return { exports, names }

  function visit(type: Type | undefined, path: string): void {
    if (!type || seen.has(type.id)) return
    seen.add(type.id)
    const parts = type.isUnionType() || type.isIntersectionType() ? type.getTypes() : []
    for (const part of [...parts, ...argumentsOf(type)]) visit(part, path)
    if (type.isTypeReference()) for (const one of checker.getTypeArguments(type)) visit(one, path)
    for (const kind of [SignatureKind.Call, SignatureKind.Construct]) {
      for (const signature of checker.getSignaturesOfType(type, kind)) call(signature, path)
    }
    if (!type.isObjectType() && !type.isIntersectionType()) return
    for (const { valueType } of checker.getIndexInfosOfType(type)) visit(valueType, path)
    const owner = type.getAliasSymbol() ?? type.getSymbol()
    const place = owner && !owner.name.startsWith('__') ? owner.name : path
    for (const property of checker.getPropertiesOfType(type)) add(property, `${place}.`, 'field')
  }

  function call(signature: Signature, path: string): void {
    for (const parameter of signature.getParameters()) add(parameter, `${path}()`, 'parameter')
    visit(checker.getReturnTypeOfSignature(signature), `${path}()`)
  }

  function add(symbol: ApiSymbol, place: string, kind: PublicName['kind']): void {
    if (!symbol.declarations.some(({ path }) => path.includes('/dist/'))) return
    const type = checker.getTypeOfSymbol(symbol)
    const path = `${place}${symbol.name}`
    names.push({ path, name: symbol.name, kind, type: type ? checker.typeToString(type) : '' })
    visit(type, path)
  }
}

/** Without the declarations of options, which `OptionsOf` turns into what a caller passes. */
function argumentsOf(type: Type): readonly Type[] {
  const isOfOptions = /^(OptionsOf|Omit|Pick)$/.test(type.getAliasSymbol()?.name ?? '')
  return isOfOptions ? [] : type.getAliasTypeArguments()
}

function typesOf(checker: Checker, symbol: ApiSymbol): readonly (Type | undefined)[] {
  return [
    symbol.flags & SymbolFlags.Type ? checker.getDeclaredTypeOfSymbol(symbol) : undefined,
    symbol.flags & SymbolFlags.Value ? checker.getTypeOfSymbol(symbol) : undefined,
  ]
}
