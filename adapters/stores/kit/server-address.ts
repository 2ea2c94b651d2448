import { OptionError } from '../../../src/lib/check-options.js'

/** Characters that would end a password early must be percent-encoded. */
const PARTS =
  /^([a-z]+:\/\/)(?:(?:[^@/?#%]|%[0-9a-f]{2})*@)?([^@/?#]*(?:\/[^@/?#]*)?)(?:\?[^@#]*)?$/i

/** Returns a URL without user, password and parameters, for messages. @throws OptionError, without it */
export function serverAddress(url: string, schemes: readonly string[], example: string): string {
  const [, start = '', place = ''] = PARTS.exec(url) ?? []
  if (schemes.includes(start.slice(0, -2)) && URL.canParse(start + place)) return start + place
  throw new OptionError({
    option: 'url',
    expected: `like ${example}; percent-encode / # ? @ % in user and password`,
  })
}
