/** The longest delay that `setTimeout` keeps, in ms; longer ones end immediately. */
export const LONGEST_TIMER = 2 ** 31 - 1
