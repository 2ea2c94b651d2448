/** Troubles that the fixed seeds have to meet: one that never comes would prove nothing. */
export const SOMETIMES: readonly string[] = [
  ...['create', 'list', 'get', 'replay', 'repeated create', 'key is free again'],
  ...['400', '401', '404', '410', '422', '503'],
  ...['rate_limit_exceeded', 'api_key_banned', '429 for a polite client'],
  ...['start', 'crash', 'restart', 'snapshot', 'restore', 'restore failed'],
  ...['refused to open', 'unfinished write', 'could not be compacted'],
  ...['second process refused', 'second process was alone'],
]
