import type { Client } from './create-client.ts'

/** What else is known of an event. Without `eventId` it gets one, so that a repeated request stores it once. */
export type EventDetails = {
  userId?: string
  visitorId?: string
  sessionId?: string
  eventId?: string
  clientTimestamp?: string
}

/** Sends an event. Resolves when it is durable. @throws ApiError */
export type Tracker<Events extends Record<keyof Events, object>> = <Name extends keyof Events & string>(
  name: Name,
  properties: Events[Name],
  details: EventDetails,
) => Promise<void>

/**
 * Creates a function that sends one event. With the types that `waymark types` writes, only events of the catalog with
 * fitting properties compile: `createTracker<Events>(client)`.
 */
export const createTracker =
  <Events extends Record<keyof Events, object> = Record<string, Record<string, unknown>>>(
    client: Client,
  ): Tracker<Events> =>
  async (eventName, properties, details) => {
    await client.post('/api/v1/t', {
      body: { ...details, eventName, properties: properties as Record<string, unknown> },
    })
  }
