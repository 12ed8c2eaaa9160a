import type { AcceptedEvent, EmailTrigger, EnrichedEvent } from '@waymark/contracts'
import { compileFilter } from '../conversion/metering.ts'

/** A trigger with its filter compiled. */
export type CompiledTrigger = { trigger: EmailTrigger; matches: (event: AcceptedEvent) => boolean }

/** Compiles a trigger's filter, once per version of it. @throws Error when the filter is no JsonLogic */
export const compileTrigger = (trigger: EmailTrigger): CompiledTrigger => ({
  trigger,
  matches: compileFilter(trigger.filter),
})

/**
 * The triggers of `candidates`, all for the event's name, that an event fires. Bots, the past that a backfill tells of, and
 * what was received before a trigger became active fire nothing, so that no backlog is ever mailed.
 */
export const triggersFiredBy = (
  event: EnrichedEvent,
  candidates: readonly CompiledTrigger[],
): EmailTrigger[] => {
  if (event.backfill || event.context.bot) return []
  const receivedAt = Date.parse(event.receivedAt)
  return candidates
    .filter(({ trigger, matches }) => Date.parse(trigger.activatedAt) <= receivedAt && matches(event))
    .map(({ trigger }) => trigger)
}
