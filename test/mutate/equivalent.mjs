/**
 * Changes that no test can notice, since they change no behaviour. They are not made.
 *
 * @type {{ file: string, from: string, to: string, why: string }[]}
 */
export const EQUIVALENT = []
