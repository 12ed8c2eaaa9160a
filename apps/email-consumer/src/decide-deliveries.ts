import type { EmailTrigger, EnrichedEvent } from '@waymark/contracts'
import { emailAddressIn, eventKeyOf, triggersFiredBy } from '@waymark/domain'
import type { Delivery } from '@waymark/event-bus'
import { aboutEvent, withoutErased } from '@waymark/pipeline'
import type { ProjectConfigs } from '@waymark/project-config'
import type { Platform } from '@waymark/service-kit'
import { v7 as uuidv7 } from 'uuid'
import { type Person, readPeople } from './read-people.ts'
import { type NewDelivery, storeDeliveries } from './store-deliveries.ts'
import { findSuppressed } from './suppressions.ts'

type Deps = Pick<Platform, 'db'> & {
  projectConfigs: ProjectConfigs
  onDecided?: (deliveries: NewDelivery[]) => void
}
type Firing = { event: EnrichedEvent; trigger: EmailTrigger }
type Decided = NewDelivery & { event: EnrichedEvent }

/**
 * Decides for a batch of events which emails they trigger, and resolves when that is stored. Sending is somebody else's:
 * what was decided once stays decided, however often the batch comes again. Of people who were erased since nothing is.
 */
export const createDecideDeliveries = ({ db, projectConfigs, onDecided = () => {} }: Deps) => {
  const firingsIn = async (batch: readonly Delivery<EnrichedEvent>[]): Promise<Firing[]> => {
    const firings: Firing[] = []
    for (const { value: event } of batch) {
      const config = await projectConfigs.get(event.projectId)
      for (const trigger of triggersFiredBy(event, config.triggersFor(event.eventName)))
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
      return { ...delivery, status: 'suppressed', context: null }
    })
    const stored = await db.transaction(async (client) => {
      const { kept } = await withoutErased(client, decided, ({ event }) => aboutEvent(event))
      return kept.length > 0 ? storeDeliveries(client, kept) : []
    })
    onDecided(stored)
  }
}

const decide = ({ event, trigger }: Firing, person: Person | undefined): NewDelivery => {
  const recipient = emailAddressIn(person?.traits.email) ?? null
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
  if (!person || recipient === null) {
    const unusable = typeof person?.traits.email === 'string'
    return {
      ...common,
      status: 'skipped_no_email',
      reason: unusable ? 'the trait is not an email address' : null,
      context: null,
    }
  }
  return { ...common, status: 'pending', reason: null, context: contextOf(event, person) }
}

/** What templates may say of an event: what is stored of it, and who it was. */
const contextOf = (event: EnrichedEvent, { profileId, userId, traits }: Person): object => {
  const { v: _v, projectId: _p, backfill: _b, warnings: _w, conversions: _c, ...told } = event
  return { traits, event: told, profile: { id: profileId, userId } }
}
