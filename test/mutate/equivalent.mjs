/**
 * Changes that no test can notice, since they change no behaviour: they are not made. `code` is a
 * piece of the source, in any layout, and `changes` are what `npm run mutate` prints for it.
 *
 * @type {{ file: string, why: string, code: string, changes: readonly string[] }[]}
 */
export const EQUIVALENT = [
  {
    file: 'src/lib/int64.ts',
    why: 'An integer of twenty digits is far from zero.',
    code: 'return near < 0 ? -Infinity : Infinity',
    changes: ['near < 0: < to <=', '0: 0 plus one'],
  },
  {
    file: 'src/lib/int64.ts',
    why: 'An integer other than zero is at least one away from it.',
    code: 'return shortestForm(near < 0 ? -exact : exact)',
    changes: ['near < 0: < to <=', '0: 0 plus one'],
  },
  {
    file: 'src/lib/json.ts',
    why: 'Only decides whether a text is scanned that cannot nest deeper and be complete.',
    code: 'if (text.length < 2 * MAX_DEPTH)',
    changes: ['text.length < 2 * MAX_DEPTH: < to <=', '2 * MAX_DEPTH: * to /'],
  },
  {
    file: 'src/lib/json.ts',
    why: 'There is no character at the length of a text.',
    code: 'for (let at = 0; at < text.length; at++)',
    changes: ['at < text.length: < to <='],
  },
  {
    file: 'src/limits/memory.ts',
    why: 'The first request starts a day, which counts the addresses.',
    code: 'let addresses = 0',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'src/limits/memory.ts',
    why: 'After a step back of a whole day, a stale entry is dropped a day earlier.',
    code: 'if (day > today || day < today - 1)',
    changes: ['day < today - 1: < to <='],
  },
  {
    file: 'adapters/test-double/clock/virtual-clock.ts',
    why: 'Timers take at least 1 ms.',
    code: 'const ms = Math.max(1, given || 0)',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'src/lib/nearest.ts',
    why: 'A column behind the last letter is not read.',
    code: 'let row = Array.from({ length: to.length + 1 }, (_, column) => column)',
    changes: ['1: 1 plus one'],
  },
  {
    file: 'src/protocol/protocol.ts',
    why: 'Asks whether there is one more animal, and looks at the first only.',
    code: 'const [more] = after === undefined ? [] : await operations.listPets({ limit: 1, status, after })',
    changes: ['1: 1 plus one'],
  },
  {
    file: 'src/pets/query.ts',
    why: 'What is kept can be read again.',
    code: 'if (kept.size === KEPT_QUERIES)',
    changes: [
      'kept.size === KEPT_QUERIES: === to !==',
      'kept.size === KEPT_QUERIES: condition negated',
    ],
  },
  {
    file: 'src/pets/query.ts',
    why: 'What is kept can be read again.',
    code: 'kept.set(query, filter)',
    changes: ['kept.set(query, filter): statement removed'],
  },
  {
    file: 'src/pets/query.ts',
    why: 'How many queries are kept changes no answer.',
    code: 'const KEPT_QUERIES = 256',
    changes: ['256: 256 plus one'],
  },
  {
    file: 'src/limits/decide.ts',
    why: 'A partition that was never seen is in no window, so these counts are not looked at.',
    code: 'minuteCount: 0,',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'src/limits/decide.ts',
    why: 'A partition that was never seen is in no window, so these counts are not looked at.',
    code: 'rejections: 0,',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'src/limits/decide.ts',
    why: 'A partition that was never seen is in no window, so these counts are not looked at.',
    code: 'dayCount: 0,',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'src/limits/decide.ts',
    why: 'A step back of 0 ms leads to the same instant.',
    code: 'const at = steppedBack > 0 && steppedBack <= CLOCK_SKEW ? usage.lastSeen : current',
    changes: ['steppedBack > 0: > to >='],
  },
  {
    file: 'src/limits/decide.ts',
    why: 'Where no window is exhausted, the ban ends later.',
    code: 'const windowEnd = dayLeft === 0 ? dayEnd : minuteLeft === 0 ? minuteEnd : 0',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'src/protocol/response.ts',
    why: 'A page that is not kept is written again.',
    code: 'keptPages.set(page, written)',
    changes: ['keptPages.set(page, written): statement removed'],
  },
  {
    file: 'adapters/verdict/watches.ts',
    why: 'A finding names no more than a hundred requests in any case.',
    code: 'if (run.exchanges.length < MOST_SHOWN)',
    changes: ['run.exchanges.length < MOST_SHOWN: < to <='],
  },
  {
    file: 'adapters/verdict/early.ts',
    why: 'No two requests have the same number.',
    code: 'return exchange.n < n && at >= (exchange.answeredAt ?? at) && at < until - TOLERANCE',
    changes: ['exchange.n < n: < to <='],
  },
  {
    file: 'adapters/verdict/ledger.ts',
    why: 'Only the order of the numbers of periods matters.',
    code: 'let opened = 0',
    changes: ['0: 0 plus one'],
  },
  {
    file: 'adapters/exchanges/exchange.ts',
    why: 'No body below 400 has a code, and an empty one is no JSON.',
    code: "if (status < 400 || body === '')",
    changes: ["status < 400 || body === '': || to &&"],
  },
  {
    file: 'adapters/exchanges/exchange.ts',
    why: 'Only the part before the first `=` is used.',
    code: "const [name = ''] = pair.split('=', 1)",
    changes: ['1: 1 plus one'],
  },
  {
    file: 'adapters/test-double/fetch.ts',
    why: 'With a Request it means the same, and takes longer.',
    code: "if (typeof input !== 'string' && !(input instanceof URL))",
    changes: ["typeof input !== 'string' && !(input instanceof URL): && to ||"],
  },
  {
    file: 'adapters/test-double/faults/inject-fault.ts',
    why: '500 has a code of its own.',
    code: "return exact ?? (status < 500 ? 'invalid_request' : 'internal_error')",
    changes: ['status < 500: < to <=', '500: 500 plus one'],
  },
  {
    file: 'adapters/test-double/run.ts',
    why: 'Every pass sets it before it is read.',
    code: 'let isAlive = false',
    changes: ['false: false negated'],
  },
  {
    file: 'adapters/test-double/run.ts',
    why: 'More turns of the event loop let happen what fewer do.',
    code: 'for (let turn = 0; turn < 2; turn++)',
    changes: ['2: 2 plus one', 'turn < 2: < to <='],
  },
  {
    file: 'adapters/test-double/run.ts',
    why: 'More turns of the event loop let happen what fewer do.',
    code: 'for (let poll = 0; poll < 4; poll++)',
    changes: ['4: 4 plus one', 'poll < 4: < to <='],
  },
  {
    file: 'adapters/test-double/state.ts',
    why: 'Only the sign matters, and no two fields have the same name.',
    code: 'const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))',
    changes: ['1: 1 plus one', '1: 1 plus one', 'a < b: < to <='],
  },
  {
    file: 'adapters/test-double/clock/clock.ts',
    why: 'What ends at the current instant has ended already.',
    code: 'if (instant > clock.now())',
    changes: ['instant > clock.now(): > to >='],
  },
  {
    file: 'adapters/test-double/clock/clock.ts',
    why: 'A signal is aborted once.',
    code: "signal?.addEventListener('abort', abort, { once: true })",
    changes: ['true: true negated'],
  },
  {
    file: 'adapters/test-double/clock/clock.ts',
    why: 'Only a clock that a wait has resumed has no instant, and waits end long after 1970 then.',
    code: 'Math.max(frozenAt ?? 0, until)',
    changes: ['0: 0 plus one'],
  },
]
