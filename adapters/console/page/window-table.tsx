import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

interface Props<Item> {
  readonly items: readonly Item[]
  /** In px, the same for all. */
  readonly rowHeight: number
  /** The index of the row to bring into view, each time that it changes. */
  readonly target: number | undefined
  readonly head: ComponentChildren
  readonly columns: number
  /** The cells of a row. */
  readonly cells: (item: Item) => ComponentChildren
}

/** Rows above and below the screen, for the time until the next frame. */
const MARGIN = 12

/** A table of any length that only draws the rows on the screen; the page scrolls. */
export function WindowTable<Item>(props: Props<Item>) {
  const { items, rowHeight, target, head, columns, cells } = props
  const table = useRef<HTMLTableElement>(null)
  const first = useFirstRow(table, rowHeight)
  useEffect(() => {
    if (target === undefined || !table.current) return
    const top = table.current.getBoundingClientRect().top + scrollY
    scrollTo({ top: top + target * rowHeight - innerHeight / 2 })
  }, [target])
  const count = Math.ceil(innerHeight / rowHeight) + 2 * MARGIN
  const start = Math.max(0, Math.min(first - MARGIN, items.length - count))
  const end = Math.min(items.length, start + count)
  return (
    <table class="window" ref={table} aria-rowcount={items.length + 1}>
      {head}
      <Spacer columns={columns} height={start * rowHeight} />
      <tbody>
        {items.slice(start, end).map((item, at) => (
          <tr
            // Rows keep their places and change their content.
            key={at}
            aria-rowindex={start + at + 2}
            class={start + at === target ? 'target' : ''}
            style={{ height: `${rowHeight}px` }}
          >
            {cells(item)}
          </tr>
        ))}
      </tbody>
      <Spacer columns={columns} height={(items.length - end) * rowHeight} />
    </table>
  )
}

function Spacer({ columns, height }: { readonly columns: number; readonly height: number }) {
  if (height === 0) return null
  return (
    <tbody aria-hidden="true">
      <tr>
        <td class="spacer" colSpan={columns} style={{ height: `${height}px` }} />
      </tr>
    </tbody>
  )
}

/** The first row on the screen. */
function useFirstRow(table: { readonly current: HTMLElement | null }, rowHeight: number): number {
  const [first, setFirst] = useState(0)
  useEffect(() => {
    const measure = () => {
      const above = -(table.current?.getBoundingClientRect().top ?? 0)
      // In steps, so that most frames of scrolling draw nothing.
      setFirst(Math.max(0, Math.floor(above / rowHeight / STEP) * STEP))
    }
    addEventListener('scroll', measure, { passive: true })
    addEventListener('resize', measure)
    return () => {
      removeEventListener('scroll', measure)
      removeEventListener('resize', measure)
    }
  }, [rowHeight])
  return first
}

const STEP = 4
