import {
  type Asked,
  all,
  answers,
  failure,
  headers,
  isCreate,
  type PlantedFault,
  type Serve,
  status,
  type Wrong,
} from '../faulty-server.js'

/** Changes the keys of creates before the store sees them; undefined leaves the header out. */
function keys(edit: (key: string | undefined, request: Asked) => string | undefined): Wrong {
  return serve => request => {
    if (!isCreate(request)) return serve(request)
    const key = edit(request.headers['idempotency-key'], request)
    return serve({ ...request, headers: { ...request.headers, 'idempotency-key': key } })
  }
}

/** A key made from the animal. */
function keyOf({ text }: Asked): string {
  return `"${[...text]
    .map(character => character.codePointAt(0)?.toString(36))
    .join('')
    .slice(0, 255)}"`
}

export const idempotencyFaults: readonly PlantedFault[] = [
  {
    name: 'ignores keys',
    caughtBy: 'idempotency.replay',
    also: [
      'idempotency.concurrent',
      'idempotency.malformed',
      'idempotency.replayed',
      'idempotency.reused',
      'idempotency.string',
    ],
    wrong: keys(() => undefined),
  },
  {
    name: 'does not mark replays',
    caughtBy: 'idempotency.replayed',
    wrong: headers(isCreate, () => ({ 'Idempotent-Replayed': undefined })),
  },
  {
    name: 'answers 409 to a reused key',
    caughtBy: 'idempotency.reused',
    wrong: answers(all(isCreate, status(422)), given => failure(409, given)),
  },
  {
    name: 'compares animals, not keys',
    caughtBy: 'idempotency.other-key',
    also: ['idempotency.malformed', 'idempotency.reused'],
    wrong: keys((key, request) => key && keyOf(request)),
  },
  {
    name: 'takes equal animals for one create',
    caughtBy: 'idempotency.without-key',
    also: ['create.unique'],
    wrong: keys((key, request) => key ?? keyOf(request)),
  },
  {
    name: 'stores twice what comes twice at the same time',
    caughtBy: 'idempotency.concurrent',
    wrong(serve) {
      const inFlight = new Set<string>()
      return async request => {
        const key = request.headers['idempotency-key']
        if (key === undefined) return serve(request)
        if (inFlight.has(key)) return withoutKey(serve, request)
        inFlight.add(key)
        const given = await serve(request)
        inFlight.delete(key)
        return given
      }
    },
  },
  {
    name: 'remembers refusals',
    caughtBy: 'idempotency.refused',
    wrong(serve) {
      const refusals = new Map<string, Awaited<ReturnType<Serve>>>()
      return async request => {
        const key = request.headers['idempotency-key'] ?? ''
        const given = refusals.get(key) ?? (await serve(request))
        if (key !== '' && given.status === 400) refusals.set(key, given)
        return given
      }
    },
  },
  {
    name: 'knows no escapes in keys',
    caughtBy: 'idempotency.string',
    wrong: serve => async request =>
      request.headers['idempotency-key']?.includes('\\')
        ? failure(400, await serve({ ...request, text: '{}', bytes: undefined }))
        : serve(request),
  },
  {
    name: 'takes any text for a key',
    caughtBy: 'idempotency.malformed',
    wrong: keys(key => (key?.endsWith('"') ? key : undefined)),
  },
]

function withoutKey(serve: Serve, request: Asked): ReturnType<Serve> {
  return serve({ ...request, headers: { ...request.headers, 'idempotency-key': undefined } })
}
