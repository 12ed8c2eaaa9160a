import { apiKeyOperations } from './api-keys.ts'
import { conversionOperations } from './conversions.ts'
import { deadLetterOperations } from './dead-letters.ts'
import { decideOperations } from './decide.ts'
import { decisionOperations } from './decisions.ts'
import { eventDefinitionOperations } from './event-definitions.ts'
import { eventOperations } from './events.ts'
import { ingestionOperations } from './ingestion-operations.ts'
import { meteringSelectorOperations } from './metering-selectors.ts'
import type { Operation } from './operation.ts'
import { profileOperations } from './profile-view.ts'
import { rejectedEventOperations } from './rejected-events.ts'
import { settingsOperations } from './settings.ts'

/** Everything that the API can do, in the order in which it is documented. */
export const operations: readonly Operation[] = [
  ...ingestionOperations,
  ...eventOperations,
  ...profileOperations,
  ...conversionOperations,
  ...apiKeyOperations,
  ...eventDefinitionOperations,
  ...meteringSelectorOperations,
  ...settingsOperations,
  ...decideOperations,
  ...decisionOperations,
  ...rejectedEventOperations,
  ...deadLetterOperations,
]
