/**
 * Changes that no test can notice, since they change no behaviour: they are not made. `from` is the
 * line as `npm run mutate` prints it, `to` is what becomes of it.
 *
 * @type {{ file: string, why: string, from: string, to: readonly string[] }[]}
 */
export const EQUIVALENT = [
  {
    file: 'src/lib/int64.js',
    why: 'An integer of twenty digits is far from zero.',
    from: 'return near < 0 ? -Infinity : Infinity;',
    to: [
      'return ((near) <= (0)) ? -Infinity : Infinity;',
      'return near < (0 + 1) ? -Infinity : Infinity;',
    ],
  },
  {
    file: 'src/lib/int64.js',
    why: 'An integer other than zero is at least one away from it.',
    from: 'return shortestForm(near < 0 ? -exact : exact);',
    to: [
      'return shortestForm(((near) <= (0)) ? -exact : exact);',
      'return shortestForm(near < (0 + 1) ? -exact : exact);',
    ],
  },
  {
    file: 'src/lib/json.js',
    why: 'Only decides whether a text is scanned that cannot nest deeper and be complete.',
    from: 'if (text.length < 2 * MAX_DEPTH)',
    to: ['if (((text.length) <= (2 * MAX_DEPTH)))', 'if (text.length < ((2) / (MAX_DEPTH)))'],
  },
  {
    file: 'src/lib/json.js',
    why: 'There is no character at the length of a text.',
    from: 'for (let at = 0; at < text.length; at++) {',
    to: ['for (let at = 0; ((at) <= (text.length)); at++) {'],
  },
  {
    file: 'src/limits/memory.js',
    why: 'The first request starts a day, which counts the addresses.',
    from: 'let addresses = 0;',
    to: ['let addresses = (0 + 1);'],
  },
  {
    file: 'src/limits/memory.js',
    why: 'After a step back of a whole day, a stale entry is dropped a day earlier.',
    from: 'if (day > today || day < today - 1)',
    to: ['if (day > today || ((day) <= (today - 1)))'],
  },
  {
    file: 'test-double/virtual-clock.js',
    why: 'Timers take at least 1 ms.',
    from: 'const ms = Math.max(1, given || 0);',
    to: ['const ms = Math.max(1, given || (0 + 1));'],
  },
  {
    file: 'src/lib/nearest.js',
    why: 'A column behind the last letter is not read.',
    from: 'let row = Array.from({ length: to.length + 1 }, (_, column) => column);',
    to: ['let row = Array.from({ length: to.length + (1 + 1) }, (_, column) => column);'],
  },
  {
    file: 'src/protocol/protocol.js',
    why: 'Asks whether there is one more animal, and looks at the first only.',
    from: 'const [more] = after === undefined ? [] : await operations.listPets({ limit: 1, status, after });',
    to: [
      'const [more] = after === undefined ? [] : await operations.listPets({ limit: (1 + 1), status, after });',
    ],
  },
  {
    file: 'src/pets/query.js',
    why: 'What is kept can be read again.',
    from: 'if (kept.size === KEPT_QUERIES)',
    to: ['if (((kept.size) !== (KEPT_QUERIES)))', 'if (!(kept.size === KEPT_QUERIES))'],
  },
  {
    file: 'src/pets/query.js',
    why: 'What is kept can be read again.',
    from: 'kept.set(query, filter);',
    to: [';'],
  },
  {
    file: 'src/pets/query.js',
    why: 'How many queries are kept changes no answer.',
    from: 'const KEPT_QUERIES = 256;',
    to: ['const KEPT_QUERIES = (256 + 1);'],
  },
  ...['minuteCount', 'rejections', 'dayCount'].map(name => ({
    file: 'src/limits/decide.js',
    why: 'A partition that was never seen is in no window, so these counts are not looked at.',
    from: `${name}: 0,`,
    to: [`${name}: (0 + 1),`],
  })),
  {
    file: 'src/limits/decide.js',
    why: 'A step back of 0 ms leads to the same instant.',
    from: 'const at = steppedBack > 0 && steppedBack <= CLOCK_SKEW ? usage.lastSeen : current;',
    to: [
      'const at = ((steppedBack) >= (0)) && steppedBack <= CLOCK_SKEW ? usage.lastSeen : current;',
    ],
  },
  {
    file: 'src/limits/decide.js',
    why: 'Where no window is exhausted, the ban ends later.',
    from: 'const windowEnd = dayLeft === 0 ? dayEnd : minuteLeft === 0 ? minuteEnd : 0;',
    to: ['const windowEnd = dayLeft === 0 ? dayEnd : minuteLeft === 0 ? minuteEnd : (0 + 1);'],
  },
  {
    file: 'src/protocol/response.js',
    why: 'A page that is not kept is written again.',
    from: 'keptPages.set(page, written);',
    to: [';'],
  },
  {
    file: 'verdict/watches.js',
    why: 'A finding names no more than a hundred requests in any case.',
    from: 'if (run.exchanges.length < MOST_SHOWN)',
    to: ['if (((run.exchanges.length) <= (MOST_SHOWN)))'],
  },
  {
    file: 'verdict/early.js',
    why: 'No two requests have the same number.',
    from: 'return exchange.n < n && at >= (exchange.answeredAt ?? at) && at < until - TOLERANCE;',
    to: [
      'return ((exchange.n) <= (n)) && at >= (exchange.answeredAt ?? at) && at < until - TOLERANCE;',
    ],
  },
  {
    file: 'verdict/ledger.js',
    why: 'Only the order of the numbers of periods matters.',
    from: 'let opened = 0;',
    to: ['let opened = (0 + 1);'],
  },
  {
    file: 'exchanges/exchange.js',
    why: 'No body below 400 has a code, and an empty one is no JSON.',
    from: "if (status < 400 || body === '')",
    to: ["if (((status < 400) && (body === '')))"],
  },
  {
    file: 'exchanges/exchange.js',
    why: 'Only the part before the first `=` is used.',
    from: "const [name = ''] = pair.split('=', 1);",
    to: ["const [name = ''] = pair.split('=', (1 + 1));"],
  },
  {
    file: 'test-double/fetch.js',
    why: 'With a Request it means the same, and takes longer.',
    from: "if (typeof input !== 'string' && !(input instanceof URL))",
    to: ["if (((typeof input !== 'string') || (!(input instanceof URL))))"],
  },
  {
    file: 'test-double/inject-fault.js',
    why: '500 has a code of its own.',
    from: "return exact ?? (status < 500 ? 'invalid_request' : 'internal_error');",
    to: [
      "return exact ?? (((status) <= (500)) ? 'invalid_request' : 'internal_error');",
      "return exact ?? (status < (500 + 1) ? 'invalid_request' : 'internal_error');",
    ],
  },
  {
    file: 'test-double/run.js',
    why: 'Every pass sets it before it is read.',
    from: 'let isAlive = false;',
    to: ['let isAlive = true;'],
  },
  {
    file: 'test-double/run.js',
    why: 'More turns of the event loop let happen what fewer do.',
    from: 'for (let turn = 0; turn < 2; turn++) {',
    to: [
      'for (let turn = 0; turn < (2 + 1); turn++) {',
      'for (let turn = 0; ((turn) <= (2)); turn++) {',
    ],
  },
  {
    file: 'test-double/run.js',
    why: 'More turns of the event loop let happen what fewer do.',
    from: 'for (let poll = 0; poll < 4; poll++) {',
    to: [
      'for (let poll = 0; poll < (4 + 1); poll++) {',
      'for (let poll = 0; ((poll) <= (4)); poll++) {',
    ],
  },
  {
    file: 'test-double/state.js',
    why: 'Only the sign matters, and no two fields have the same name.',
    from: 'const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));',
    to: [
      'const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -(1 + 1) : 1));',
      'const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : (1 + 1)));',
      'const entries = Object.entries(value).sort(([a], [b]) => (((a) <= (b)) ? -1 : 1));',
    ],
  },
  {
    file: 'test-double/clock.js',
    why: 'What ends at the current instant has ended already.',
    from: 'if (instant > clock.now())',
    to: ['if (((instant) >= (clock.now())))'],
  },
  {
    file: 'test-double/clock.js',
    why: 'A signal is aborted once.',
    from: "signal?.addEventListener('abort', abort, { once: true });",
    to: ["signal?.addEventListener('abort', abort, { once: false });"],
  },
  {
    file: 'test-double/clock.js',
    why: 'Only a clock that a wait has resumed has no instant, and waits end long after 1970 then.',
    from: 'frozenAt = Math.max(frozenAt ?? 0, until);',
    to: ['frozenAt = Math.max(frozenAt ?? (0 + 1), until);'],
  },
]
