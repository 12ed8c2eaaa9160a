import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { WorkBudget } from '../logic/work-budget.ts'
import { emailAddressIn } from './address.ts'
import { type CompiledTrigger, triggersFiredBy } from './trigger.ts'

/** Where an email to a person goes, or why it cannot be sent. */
export type Addressed = { recipient: string; reason: null } | { recipient: null; reason: string }

/** The address of a person by their traits. `undefined`: the event has no person. */
export const addressOf = (traits: Readonly<Record<string, unknown>> | undefined): Addressed => {
  const recipient = emailAddressIn(traits?.email)
  if (recipient !== undefined) return { recipient, reason: null }
  const isUnusable = typeof traits?.email === 'string'
  return {
    recipient: null,
    reason: isUnusable ? 'the trait is not an email address' : 'the profile has no trait email',
  }
}

/** Whether an event fires a trigger, and the steps of work that its filter took. */
export const isFiredBy = (
  event: EnrichedEvent,
  trigger: CompiledTrigger,
): { fires: boolean; steps: number } => {
  const budget = new WorkBudget()
  const before = budget.left
  const fires = triggersFiredBy(event, [trigger], budget).length > 0
  return { fires, steps: before - budget.left }
}

/** What became of an event that fires a trigger: a status of deliveries, `pending` for an email to send. */
export type ReplayedStatus = 'pending' | 'skipped_no_email' | 'suppressed' | 'cooldown'

/** An event that fires a trigger, in ms, and to whom its email would go. */
export type Firing = {
  at: number
  profileId: string | null
  recipient: string | null
  isSuppressed: boolean
}

/**
 * The statuses of the deliveries of firings, which are in the order of receipt. An email is within the cooldown when the
 * last one to the same profile was less than `cooldownSeconds` before.
 */
export const replayDeliveries = (
  firings: readonly Firing[],
  { cooldownSeconds }: { cooldownSeconds: number },
): ReplayedStatus[] => {
  const startedAt = new Map<string | null, number>()
  return firings.map(({ at, profileId, recipient, isSuppressed }) => {
    if (recipient === null) return 'skipped_no_email'
    if (isSuppressed) return 'suppressed'
    const started = startedAt.get(profileId)
    if (cooldownSeconds > 0 && started !== undefined && at < started + cooldownSeconds * 1_000)
      return 'cooldown'
    startedAt.set(profileId, at)
    return 'pending'
  })
}
