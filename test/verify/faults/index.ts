import type { PlantedFault } from '../faulty-server.js'
import { authenticationFaults } from './authentication.js'
import { createPetFaults } from './create-pet.js'
import { deprecationFaults } from './deprecation.js'
import { descriptionFaults } from './description.js'
import { errorsFaults } from './errors.js'
import { getPetFaults } from './get-pet.js'
import { idempotencyFaults } from './idempotency.js'
import { limitsFaults } from './limits.js'
import { listPetsFaults } from './list-pets.js'
import { rateLimitHeadersFaults } from './rate-limit-headers.js'
import { robustnessFaults } from './robustness.js'

/** One file for each file of `adapters/verify/checks/`; `byte-faults.ts` has those of HTTP itself. */
export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...authenticationFaults,
  ...createPetFaults,
  ...getPetFaults,
  ...listPetsFaults,
  ...errorsFaults,
  ...rateLimitHeadersFaults,
  ...deprecationFaults,
  ...robustnessFaults,
  ...descriptionFaults,
  ...idempotencyFaults,
  ...limitsFaults,
]
