import type { EmailTrigger, EnrichedEvent } from '@waymark/contracts'
import { compileFilter, type EventFilter, filteredEvent } from '../conversion/metering.ts'
import { WorkBudget } from '../logic/work-budget.ts'

/** A trigger with its filter compiled. */
export type CompiledTrigger = { trigger: EmailTrigger; matches: EventFilter }

/** Compiles a trigger's filter, once per version of it. @throws Error when the filter is no JsonLogic */
export const compileTrigger = (trigger: EmailTrigger): CompiledTrigger => ({
  trigger,
  matches: compileFilter(trigger.filter),
})

/**
 * The triggers of `candidates`, all for the event's name, that an event fires. Bots, the past that a backfill tells of, and
 * what was received before a trigger became active fire nothing, so that no backlog is ever mailed. Nor does an event fire
 * a trigger whose filter would cost more than the budget.
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
