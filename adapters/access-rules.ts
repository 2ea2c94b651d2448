import { type Rule, typed } from '../src/lib/check-options.js'

/** A base URL; secret, because it may hold a password. */
export const isServiceUrl = typed<string>({
  expected:
    'an address with http:// or https://, such as http://127.0.0.1:4280/v1, without user name, query and fragment',
  accepts: value =>
    typeof value === 'string' &&
    /^https?:\/\/[^/@?#]+(\/[^?#]*)?$/i.test(value) &&
    URL.canParse(value),
  secret: text => /^https?:\/\//i.test(text) || 'one without http://',
})

export const isApiKey: Rule<string> = {
  expected: 'printable ASCII without spaces',
  accepts: value => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
  secret: true,
}
