import type { Check } from '../check-types.js'
import { authenticationChecks } from './authentication.js'
import { createPetChecks } from './create-pet.js'
import { deprecationChecks } from './deprecation.js'
import { descriptionChecks } from './description.js'
import { errorChecks } from './errors.js'
import { everyChecks } from './every-response.js'
import { getPetChecks } from './get-pet.js'
import { httpChecks } from './http.js'
import { idempotencyChecks } from './idempotency.js'
import { limitChecks } from './limits.js'
import { emptyListChecks, listPetsChecks } from './list-pets.js'
import { rateLimitHeaderChecks } from './rate-limit-headers.js'
import { robustnessChecks } from './robustness.js'

/**
 * All checks in the order of a run: lists before and after animals are created, then those that may
 * break a server for good, and requirements of every response once all have come.
 */
export const CHECKS: readonly Check[] = [
  ...emptyListChecks,
  ...authenticationChecks,
  ...createPetChecks,
  ...getPetChecks,
  ...listPetsChecks,
  ...errorChecks,
  ...rateLimitHeaderChecks,
  ...deprecationChecks,
  ...descriptionChecks,
  ...idempotencyChecks,
  ...httpChecks,
  ...limitChecks,
  ...robustnessChecks,
  ...everyChecks,
]
