import type { EmailTrigger } from '@waymark/contracts/email'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { compileFilter, type EventFilter, filteredEvent } from '../conversion/metering.ts'
import { WorkBudget } from '../logic/work-budget.ts'

/** A trigger with its compiled filter. */
export type CompiledTrigger = { trigger: EmailTrigger; matches: EventFilter }

/** Compiles the filter of a trigger. @throws Error when it is not valid JsonLogic */
export const compileTrigger = (trigger: EmailTrigger): CompiledTrigger => ({
  trigger,
  matches: compileFilter(trigger.filter),
})

/**
 * The triggers that an event fires, of `candidates` for its name. Bots, backfilled events and events received before the
 * activation of a trigger fire nothing, so that a backlog never sends emails. A filter that exceeds the budget does not
 * match.
 */
export const triggersFiredBy = (
  event: EnrichedEvent,
  candidates: readonly CompiledTrigger[],
  budget = new WorkBudget(),
): EmailTrigger[] => {
  if (event.backfill || event.context.bot || candidates.length === 0) return []
  const receivedAt = Date.parse(event.receivedAt)
  const filtered = filteredEvent(event)
  return candidates
    .filter(({ trigger }) => Date.parse(trigger.activatedAt) <= receivedAt)
    .filter(({ matches }) => matches(filtered, budget) === 'holds')
    .map(({ trigger }) => trigger)
}
