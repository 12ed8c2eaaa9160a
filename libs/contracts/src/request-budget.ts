// The time budget of a request. Clients are promised an answer within 5 s; every wait below is part of it, so that nothing
// commits after the client was answered 503. The database's own time limits are in `libs/database/src/prisma.ts`.

/** Deadline of an answer, in ms. Below 5 s, because timers of a busy process fire late. */
export const REQUEST_DEADLINE_MS = 4_600
/** Deadline of operations with `takesLong`, in ms: the statement timeout of the database. */
export const LONG_REQUEST_DEADLINE_MS = 35_000

/** How long work waits for its turn in a fair queue, in ms. */
export const MAX_TURN_WAIT_MS = 4_000
/** How long a read waits for a value that no cache has, in ms. */
export const CACHE_READ_TIMEOUT_MS = 3_500
/** How long a write waits for a lock that another transaction holds, in ms. */
export const WRITE_LOCK_TIMEOUT_MS = 3_000
/** How long a redemption waits for concurrent ones, in ms. */
export const REDEMPTION_LOCK_TIMEOUT_MS = 2_000

/** Time until the event bus confirms records, in ms. */
export const PUBLISH_DEADLINE_MS = 4_000
/** The same where the outbox is tried next, in ms. */
export const BUS_DEADLINE_MS = 2_500
/** Time for the bus and the outbox together, in ms. A request may spend a second on its key first. */
export const ENQUEUE_DEADLINE_MS = 3_500
/** Time for the outbox before the bus is tried instead, in ms. */
export const SPOOL_DEADLINE_MS = 2_000
