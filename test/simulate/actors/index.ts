import type { ActorKind } from './actor.js'
import { byHand } from './by-hand.js'
import { careless } from './careless.js'
import { hasty } from './hasty.js'
import { metronome } from './metronome.js'
import { miscounting } from './miscounting.js'
import { keyless, misspelling, outdated } from './mistaken.js'
import { obstinate } from './obstinate.js'
import { ourClient } from './our-client.js'
import { politeFetchUser } from './polite-fetch.js'
import { pushy } from './pushy.js'
import { rude } from './rude.js'
import { stubborn } from './stubborn.js'

/** Everybody who may take part, by name. */
export const ACTORS: Readonly<Record<string, ActorKind>> = {
  'our client with keys': {
    isPolite: true,
    create: context => ourClient(context, context.hasIdempotency),
  },
  'our client': { isPolite: true, create: context => ourClient(context, false) },
  politeFetch: { isPolite: true, create: politeFetchUser },
  'by hand': { isPolite: true, create: byHand },
  rude: { create: rude },
  hasty: { breaks: 'retry-after.early', create: hasty },
  pushy: { breaks: 'remaining.ignored', create: pushy },
  stubborn: { breaks: 'ban.risked', atLeast: 'remaining.ignored', create: stubborn },
  miscounting: { breaks: 'reset.as-delta', create: miscounting },
  metronome: { breaks: 'backoff.constant', create: metronome },
  outdated: { breaks: 'deprecated.called', create: outdated },
  keyless: { breaks: 'key.refused', create: keyless },
  misspelling: { breaks: 'name.unknown', create: misspelling },
  obstinate: { breaks: 'refusal.repeated', create: obstinate },
  careless: { breaks: 'create.repeated', create: careless },
}

/** Those who break one rule each, and all others. */
export const RULE_BREAKERS = Object.keys(ACTORS).filter(kind => ACTORS[kind]?.breaks)
export const OTHERS = Object.keys(ACTORS).filter(kind => !ACTORS[kind]?.breaks)
