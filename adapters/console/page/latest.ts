import { useEffect, useRef } from 'preact/hooks'

/** Hands over the answer to the latest question: not those that it overtook, and none once the view is gone. */
export function useLatest() {
  const latest = useRef(0)
  useEffect(() => () => void latest.current++, [])
  return async <T>(question: Promise<T>, use: (answer: T) => void): Promise<void> => {
    const number = ++latest.current
    const answer = await question
    if (number === latest.current) use(answer)
  }
}
