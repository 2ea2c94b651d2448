import { LONGEST_TIMER, OptionError } from '../../src/lib/options.js'
import { DURATION_TEXT, durationOf } from '../../src/lib/time.js'
import { withoutUrl } from './without-secrets.js'

/**
 * The value of an option such as `24h`, in ms.
 *
 * @param least and `most`, which is by default what a timer can wait, in ms
 * @throws OptionError for parts of a ms, or anything outside
 */
export function readDuration(
  option: string,
  text: string,
  { least = 1, most = LONGEST_TIMER } = {},
): number {
  const given = withoutUrl(text)
  const ms = durationOf(option, given, DURATION_TEXT)
  if (Number.isInteger(ms) && ms >= least && ms <= most) return ms
  const end = most < Number.MAX_SAFE_INTEGER ? ` and at most ${most}ms` : ''
  const expected = `a duration in whole ms, of at least ${least}ms${end}`
  throw new OptionError({ option, expected, got: `'${given}'` })
}
