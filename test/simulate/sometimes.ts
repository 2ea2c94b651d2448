const BOTH = [
  ...['create', 'list', 'get', 'HEAD', 'replay', 'repeated create', 'key is free again'],
  ...['400', '401', '404', '405', '410', '413', '422', '503'],
  ...['rate_limit_exceeded', 'api_key_banned', '429 for a polite client'],
  ...[
    'start',
    'crash',
    'restart',
    'snapshot',
    'restore',
    'restore failed',
    'swap',
    'counted alone',
  ],
  ...['retry-after.early', 'remaining.ignored', 'ban.risked', 'reset.as-delta', 'backoff.constant'],
  ...['deprecated.called', 'key.refused', 'name.unknown', 'refusal.repeated', 'create.repeated'],
]

/**
 * What the fixed seeds have to come across, by kind of world: a kind of trouble that never comes would prove
 * nothing.
 */
export const SOMETIMES: Readonly<Record<string, readonly string[]>> = {
  file: [
    ...[...BOTH, 'refused to open', 'unfinished write', 'could not be compacted'],
    ...['second process refused', 'second process was alone'],
  ],
  sqlite: [...BOTH, 'lock', 'interruption', 'counts lost'],
  double: [
    ...['create', 'list', 'get', 'HEAD', 'replay', '422', '429 for a polite client'],
    ...['fault status', 'fault delay', 'fault reset', 'fault hang', 'fault truncate'],
    ...['fault malformed', 'key is free again'],
    ...['reset', 'snapshot', 'restore', 'seed', 'run', 'look', 'clear-faults', 'clear-requests'],
    ...['in flight', 'unused', 'dropped'],
  ],
}
