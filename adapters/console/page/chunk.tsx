import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** Drawn before it is on the screen, for the time until the next frame. */
const MARGIN = '600px'

/** A part of a long list, whose items are only drawn while it is near the screen. */
export function Chunk(props: {
  readonly label: string
  /** In px, until it has been drawn once. */
  readonly height: number
  /** Draw it wherever it is. */
  readonly isNeeded: boolean
  readonly items: () => ComponentChildren
  readonly onKeyDown: (event: KeyboardEvent) => void
}) {
  const { label, height, isNeeded, items, onKeyDown } = props
  const list = useRef<HTMLOListElement>(null)
  const [isNear, setNear] = useState(false)
  const known = useRef(height)
  useEffect(() => {
    const element = list.current as HTMLOListElement
    const observer = new IntersectionObserver(
      entries => {
        // A busy browser reports several changes at once, the latest last.
        const entry = entries.at(-1)
        if (!entry) return
        if (!entry.isIntersecting) known.current = element.offsetHeight
        setNear(entry.isIntersecting)
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  const isDrawn = isNear || isNeeded
  return (
    <ol
      class="rows"
      ref={list}
      aria-label={label}
      onKeyDown={onKeyDown}
      style={isDrawn ? {} : { height: `${known.current}px` }}
    >
      {isDrawn && items()}
    </ol>
  )
}
