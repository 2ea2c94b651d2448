/** The longest delay that `setTimeout` supports, in ms; longer ones end immediately. */
export const LONGEST_TIMER = 2 ** 31 - 1
