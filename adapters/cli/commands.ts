import {
  DESCRIBED,
  EXPLORE,
  KEYS,
  type Options,
  REPLAY,
  RUN,
  SERVER,
  STORE,
  STORE_OF_EXEC,
  THROUGH,
  VERDICT,
  VERIFY,
} from './options.js'

export interface Command {
  readonly usage: string
  readonly does: string
  readonly more?: string
  readonly examples?: readonly string[]
  readonly groups?: Readonly<Record<string, Options>>
  /** Options that may come from the environment. */
  readonly variables?: 'all' | readonly string[]
  /** Number of operands, by default none; `exec` takes a command instead. */
  readonly operands?: readonly [least: number, most: number]
}

/** Stops the servers; on SIGTERM, after the time of `--drain`. */
export type Stop = (signal?: string) => Promise<void>

export interface Call {
  readonly operands: readonly string[]
  readonly given: ReadonlyMap<string, string>
  stopOnSignal(stop: Stop): void
}

const RECORDING = 'a recording of exec --record'
const ANY_STORE = 'A store is x.json, x.sqlite, postgres://… or postgres:, as for --store.'

export const COMMANDS = {
  serve: {
    usage: '[serve] [options]',
    does: 'serve the API on this machine',
    examples: ['serve --store pets.json --keys keys.json', 'serve --control --time 2030-01-01'],
    groups: { Server: SERVER, Store: STORE },
    variables: 'all',
  },
  exec: {
    usage: '[exec] [options] -- <command>',
    does: 'run a command against a private store',
    more: 'The command finds the store by ADOPTION_STORE_BASE_URL, ADOPTION_STORE_API_KEY and ADOPTION_STORE_CONTROL_URL. It is empty without --seed. Exit codes: that of the command, or 1 where an option says so.',
    examples: ['exec --strict -- npm test', 'exec --explore -- npm test'],
    groups: {
      Store: STORE_OF_EXEC,
      Verdict: VERDICT,
      Run: RUN,
      'Many runs': EXPLORE,
      'Another server': THROUGH,
    },
    variables: 'all',
  },
  copy: {
    usage: 'copy <from> <to>',
    does: 'copy all animals into an empty store',
    more: `${ANY_STORE} <from> may also be a list of the API, or db.json of json-server.`,
    examples: ['copy pets.json pets.sqlite', 'copy pets.json postgres:'],
    operands: [2, 2],
  },
  check: {
    usage: 'check <store>',
    does: 'check a store for damage',
    more: ANY_STORE,
    examples: ['check pets.json', 'check postgres:'],
    operands: [1, 1],
  },
  verify: {
    usage: 'verify <base-url> --api-key <key> [options]',
    does: 'check any server of this API',
    more: 'It checks from outside, within the limits of its key. Exit codes: 0 no MUST is broken, 1 a MUST is broken, 2 the server cannot be verified.',
    examples: ['verify http://127.0.0.1:4280/v1 --api-key demo-pro', 'verify --list'],
    groups: { Options: VERIFY },
    variables: ['apiKey', 'spareApiKey'],
    operands: [0, 1],
  },
  keys: {
    usage: 'keys new|list|revoke <file.json> [id]',
    does: 'manage the keys file (see --keys)',
    more: 'The actions: new adds a key and prints it once, list shows the keys by their digest, revoke removes the key with this id or digest. The file holds the SHA-256 of a new key, not the key. A server started with --watch follows every change.',
    examples: ['keys new keys.json --id web --plan pro', 'keys revoke keys.json web'],
    groups: { Options: KEYS },
    operands: [2, 3],
  },
  replay: {
    usage: 'replay <run.json> [options]',
    does: 'replay a recording and open the console at a step',
    more: `The file is ${RECORDING}. Exit codes: 0 every step came out as recorded, 1 one did not, 2 the file cannot be replayed.`,
    examples: ['replay run.json --until 12', 'replay run.json --check'],
    groups: { Options: REPLAY },
    operands: [1, 1],
  },
  diff: {
    usage: 'diff <good.json> <bad.json>',
    does: 'show the first step where two runs differ',
    more: `Each file is ${RECORDING}. Exit codes: 0 no step differs, 1 one does or there is none, 2 a file cannot be read.`,
    examples: ['diff good.json bad.json'],
    operands: [2, 2],
  },
  openapi: {
    usage: 'openapi [options]',
    does: 'print the OpenAPI 3.1 description',
    examples: ['openapi >openapi.json', 'openapi --idempotency --pagination'],
    groups: { Options: DESCRIBED },
    variables: 'all',
  },
  skill: {
    usage: 'skill',
    does: 'print how a coding agent repairs a client with this program',
    examples: ['skill >.agents/skills/animal-adoption-store/SKILL.md'],
  },
  help: { usage: 'help [command]', does: 'print this help', operands: [0, 1] },
  version: { usage: 'version', does: 'print the version' },
} as const satisfies Readonly<Record<string, Command>>

export type CommandName = keyof typeof COMMANDS
