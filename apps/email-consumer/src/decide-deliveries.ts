import type { EmailTrigger } from '@waymark/contracts/email'
import type { EnrichedEvent } from '@waymark/contracts/records/enriched-event'
import { addressOf, triggersFiredBy } from '@waymark/domain/email'
import { eventKeyOf } from '@waymark/domain/ingestion'
import { WorkBudget } from '@waymark/domain/logic'
import type { Delivery } from '@waymark/event-bus'
import { aboutEvent, withoutErased } from '@waymark/pipeline'
import type { LatestProjectConfigs } from '@waymark/project-config'
import { type CorePlatform, LoopTurns } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { type NewDelivery, storeDeliveries } from './new-delivery-queries.ts'
import { type Person, readPeople } from './person-queries.ts'
import { findSuppressed, SUPPRESSED } from './suppression-queries.ts'

type Deps = Pick<CorePlatform, 'db'> & {
  projectConfigs: Pick<LatestProjectConfigs, 'getCurrent'>
  onDecided?: (deliveries: NewDelivery[]) => void
}
type Firing = { event: EnrichedEvent; trigger: EmailTrigger }
type Decided = NewDelivery & { event: EnrichedEvent }

/**
 * Creates the deliveries that a batch of events triggers, and resolves when they are stored. A repeated batch changes
 * nothing. Deliveries to erased people are not stored.
 */
export const createDecideDeliveries = ({ db, projectConfigs, onDecided = () => {} }: Deps) => {
  const firingsIn = async (batch: readonly Delivery<EnrichedEvent>[]): Promise<Firing[]> => {
    const firings: Firing[] = []
    const turns = new LoopTurns()
    for (const { value: event } of batch) {
      const config = await projectConfigs.getCurrent(event.projectId)
      await config.prepare('emails', [event.eventName], turns)
      if (turns.isOver()) await turns.next()
      for (const trigger of triggersFiredBy(event, config.triggersFor(event.eventName), new WorkBudget()))
        firings.push({ event, trigger })
    }
    return firings
  }

  return async (batch: readonly Delivery<EnrichedEvent>[]): Promise<undefined> => {
    const firings = await firingsIn(batch)
    if (firings.length === 0) return
    const people = await readPeople(
      db.pool,
      firings.flatMap(({ event: { projectId, profileId } }) => (profileId ? { projectId, profileId } : [])),
    )
    const deliveries = firings.map((firing) => ({
      ...decide(firing, people.get(firing.event.profileId ?? '')),
      event: firing.event,
    }))
    const isSuppressed = await findSuppressed(
      db.pool,
      deliveries.flatMap(({ projectId, recipient }) => (recipient ? { projectId, address: recipient } : [])),
    )
    const decided = deliveries.map((delivery): Decided => {
      const { projectId, recipient } = delivery
      if (recipient === null || !isSuppressed({ projectId, address: recipient })) return delivery
      return { ...delivery, status: 'suppressed', reason: SUPPRESSED, context: null }
    })
    const stored = await db.transaction(async (client) => {
      const { kept } = await withoutErased(client, decided, ({ event }) => aboutEvent(event))
      return kept.length > 0 ? storeDeliveries(client, kept) : []
    })
    onDecided(stored)
  }
}

const decide = ({ event, trigger }: Firing, person: Person | undefined): NewDelivery => {
  const { recipient, reason } = addressOf(person?.traits)
  const common = {
    id: uuidv7(),
    projectId: event.projectId,
    triggerId: trigger.id,
    eventKey: eventKeyOf(event.eventId),
    eventId: event.eventId,
    receivedAt: event.receivedAt,
    profileId: person?.profileId ?? null,
    recipient,
    cooldownSeconds: trigger.cooldownSeconds,
  }
  if (!person || recipient === null) return { ...common, status: 'skipped_no_email', reason, context: null }
  return { ...common, status: 'pending', reason: null, context: contextOf(event, person) }
}

/** The variables of templates: the stored event, its profile and traits. */
const contextOf = (event: EnrichedEvent, { profileId, userId, traits }: Person): object => {
  const { v: _v, projectId: _p, backfill: _b, warnings: _w, conversions: _c, ...fields } = event
  return { traits, event: fields, profile: { id: profileId, userId } }
}
