import { useEffect, useState } from 'preact/hooks'

export type View = 'activity' | 'animals' | 'test' | 'start'

interface Fragment {
  readonly view: View
  /** Empty for the store itself, outside worlds. */
  readonly world: string
}

/** The view and world in the page's URL, and a function that navigates. */
export function useFragment(): readonly [Fragment, (next: Fragment) => void] {
  const [fragment, setFragment] = useState(readFragment)
  useEffect(() => {
    const follow = () => setFragment(readFragment())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return [
    fragment,
    next => {
      location.hash = hrefOf(next)
    },
  ]
}

export function hrefOf({ view, world }: Fragment): string {
  return world === '' ? `#${view}` : `#${view}/${encodeURIComponent(world)}`
}

function readFragment(): Fragment {
  const [view = '', world = ''] = location.hash.slice(1).split('/')
  const known = (['animals', 'test', 'start'] as const).find(name => name === view)
  return { view: known ?? 'activity', world: decodeURIComponent(world) }
}
