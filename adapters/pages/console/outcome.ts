import type { Entry } from '../../verdict/log/log-entry.js'

export const OUTCOMES = ['ok', 'refused', 'limited', 'banned', 'failed'] as const
export type Outcome = (typeof OUTCOMES)[number]

export function outcomeOf(of: Pick<Entry, 'status' | 'code' | 'lost'>): Outcome {
  const { status, code, lost } = of
  if (status === null || status >= 500 || lost) return 'failed'
  if (status === 429) return code === 'api_key_banned' ? 'banned' : 'limited'
  return status >= 400 ? 'refused' : 'ok'
}
