import type { ActorKind } from './actor.js'
import { byHand } from './by-hand.js'
import { ourClient } from './our-client.js'
import { politeFetchUser } from './polite-fetch.js'
import { rude } from './rude.js'
import { RULE_BREAKERS } from './rule-breakers.js'

const KEEPERS: Readonly<Record<string, ActorKind>> = {
  'our client with keys': {
    isPolite: true,
    create: context => ourClient(context, context.hasIdempotency),
  },
  'our client': { isPolite: true, create: context => ourClient(context, false) },
  politeFetch: { isPolite: true, create: politeFetchUser },
  'by hand': { isPolite: true, create: byHand },
  rude: { create: rude },
}

/** Everybody who may take part, by name. */
export const ACTORS: Readonly<Record<string, ActorKind>> = { ...KEEPERS, ...RULE_BREAKERS }
export const BREAKERS = Object.keys(RULE_BREAKERS)
export const OTHERS = Object.keys(KEEPERS)
