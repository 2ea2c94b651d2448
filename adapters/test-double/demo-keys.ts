import type { ApiKey } from '../../src/protocol/api-keys.js'

/** One key per plan. They are public, so use them on loopback only. */
export const DEMO_KEYS = {
  'demo-free': { id: 'demo-free', plan: 'free' },
  'demo-pro': { id: 'demo-pro', plan: 'pro' },
  'demo-business': { id: 'demo-business', plan: 'business' },
  'demo-enterprise': {
    id: 'demo-enterprise',
    plan: 'enterprise',
    limits: { perMinute: 5_000, perDay: 1_000_000 },
  },
} as const satisfies Record<string, ApiKey>
