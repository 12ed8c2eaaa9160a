/** The event bus did not confirm in time that records are durable. They may be. */
export class BusUnavailableError extends Error {
  override name = 'BusUnavailableError'
}
