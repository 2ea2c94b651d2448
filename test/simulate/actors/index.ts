import type { ActorKind } from './actor.js'
import { ourClient } from './our-client.js'
import { rude } from './rude.js'

/** Everybody who may take part, by name. */
export const ACTORS: Readonly<Record<string, ActorKind>> = {
  'our client with keys': {
    isPolite: true,
    create: context => ourClient(context, context.hasIdempotency),
  },
  'our client': { isPolite: true, create: context => ourClient(context, false) },
  rude: { create: rude },
}
