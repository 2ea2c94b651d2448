// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is code of the build
/** Defects of the client, and of the verdict on clients. */
export const CLIENT_DEFECTS = [
  {
    name: 'the client retries at once after a lost response',
    file: 'adapters/client/backoff.js',
    from: 'Math.max(SECOND, random()',
    to: 'Math.max(0, 0.1 * random()',
  },
  {
    name: 'the client repeats creates without a key',
    file: 'adapters/client/client.js',
    from: "method === 'GET' ||",
    to: 'true ||',
  },
  {
    name: 'the client uses a key for two creates',
    file: 'adapters/client/unanswered.js',
    from: 'return `${prefix}-${++count}`;',
    to: 'return `${prefix}-${++count >> 1}`;',
  },
  {
    name: 'the client takes Retry-After for tenths of a second',
    file: 'adapters/client/headers.js',
    from: 'return seconds * SECOND;',
    to: 'return seconds * 100;',
  },
  {
    name: 'the client does not wait at Remaining: 0',
    file: 'adapters/client/pace.js',
    from: 'if (window && !isOver && window.remaining <= inFlight) {',
    to: 'if (false) {',
  },
  {
    name: 'the client loses a turn with each retry',
    file: 'adapters/client/throttle.js',
    from: 'inFlight--;',
    to: 'if (!isRetry) inFlight--;',
  },
  {
    name: 'the client does not wait after a 429',
    file: 'adapters/client/budget.js',
    from: 'if (now < paused.opensAt)',
    to: 'if (false)',
  },
  {
    name: 'politeFetch repeats every request',
    file: 'adapters/client/polite-fetch.js',
    from: 'return hasIdempotencyKey || IDEMPOTENT.includes(method);',
    to: 'return true;',
  },
  // The verdict.
  {
    name: 'the verdict misses rejected requests that come again too early',
    file: 'adapters/verdict/rules/waits.js',
    from: 'if (repeated.length > 0) {',
    to: 'if (false) {',
  },
  {
    name: 'the verdict misses other requests while nothing remains',
    file: 'adapters/verdict/rules/waits.js',
    from: 'const isLikely = others.length < FEWEST_OTHERS;',
    to: 'const isLikely = true;',
  },
  {
    name: 'the verdict misses a ban',
    file: 'adapters/verdict/rules/bans.js',
    from: "return { rule: 'ban.risked', seen, exchanges: shown };",
    to: 'return undefined;',
  },
  {
    name: 'the verdict accuses whoever comes back in time',
    file: 'adapters/verdict/rules/rejections.js',
    from: 'at < until - TOLERANCE;',
    to: 'at < until + 2_000;',
  },
  {
    name: 'the verdict misses retries at one pace',
    file: 'adapters/verdict/rules/backoff.js',
    from: "isLikely: shape === 'none' || (shape === 'constant' && mayGoOn),",
    to: 'isLikely: true,',
  },
  {
    name: 'the verdict misses a wrong request that comes again and again',
    file: 'adapters/verdict/rules/refusals.js',
    from: 'const HAMMERING = 5;',
    to: 'const HAMMERING = 50;',
  },
  {
    name: 'the verdict misses who takes Reset for milliseconds',
    file: 'adapters/verdict/rules/requests.js',
    from: 'if (!inSeconds && !inMs)',
    to: 'if (!inSeconds)',
  },
  {
    name: 'the verdict misses creates that are repeated without a key',
    file: 'adapters/verdict/rules/creates.js',
    from: 'if (!earlier || isUnknown || earlierId === id)',
    to: 'if (!earlier || isUnknown || earlierId === id || idempotencyKey === null)',
  },
  {
    name: 'the verdict accuses whoever repeats a create with its key',
    file: 'adapters/verdict/rules/creates.js',
    from: 'if (idempotencyKey !== null && idempotencyKey === earlier.idempotencyKey)',
    to: 'if (false)',
  },
  {
    name: 'the verdict takes a key that was never valid for one that was revoked',
    file: 'adapters/judge/credentials.js',
    from: 'return accepted.has(key) ? key : null;',
    to: 'return key;',
  },
  {
    name: 'the verdict takes half a rejection for a whole one',
    file: 'adapters/verdict/rules/rule.js',
    from: "return loses === 'response' || (loses === 'body' && method !== 'HEAD');",
    to: "return loses === 'response';",
  },
]
