import { useEffect, useState } from 'preact/hooks'

export const VIEWS = { activity: 'Activity', animals: 'Animals', test: 'Test', start: 'Start' }
export type View = keyof typeof VIEWS

/** The state of the page in its address: `#activity/w1?status=4&request=17`. */
export interface Place {
  readonly view: View
  /** Empty outside worlds. */
  readonly world: string
  /** Filters and the open request; never empty. */
  readonly parameters: Readonly<Partial<Record<string, string>>>
}

/** Navigates. A new view or world is a step in the browser history, other changes are not. */
export type Go = (next: Partial<Place>) => void

export function usePlace(): readonly [Place, Go] {
  const [place, setPlace] = useState(readPlace)
  useEffect(() => {
    const follow = () => setPlace(readPlace())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return [
    place,
    next => {
      const isSame = next.view === undefined && next.world === undefined
      if (!isSame) {
        location.hash = hrefOf({ ...place, parameters: {}, ...next })
        return
      }
      const parameters = { ...place.parameters, ...next.parameters }
      history.replaceState(null, '', hrefOf({ ...place, parameters }))
      setPlace(readPlace())
    },
  ]
}

export function hrefOf({ view, world, parameters }: Place): string {
  const given = Object.entries(parameters).filter(([, value]) => value)
  const query = new URLSearchParams(given as [string, string][]).toString()
  return `#${view}${world && `/${encodeURIComponent(world)}`}${query && `?${query}`}`
}

function readPlace(): Place {
  const [, path = '', query = ''] = /^#?([^?]*)\??(.*)$/.exec(location.hash) ?? []
  const [view = '', world = ''] = path.split('/')
  return {
    view: Object.hasOwn(VIEWS, view) ? (view as View) : 'activity',
    // Unlike `decodeURIComponent`, this takes a mistyped address, too.
    world: new URLSearchParams(`world=${world}`).get('world') ?? '',
    parameters: Object.fromEntries(new URLSearchParams(query)),
  }
}
