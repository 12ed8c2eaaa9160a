import type { AcceptedEvent } from '@waymark/contracts'

/** The key that keeps one person's records in order: the visitor, else the user, else the event stands alone. */
export const partitionKeyOf = (
  projectId: string,
  event: Pick<AcceptedEvent, 'visitorId' | 'userId' | 'eventId'>,
): { projectId: string; id: string } => ({
  projectId,
  id: event.visitorId ?? event.userId ?? event.eventId,
})
