import { createFairQueue, type FairQueue } from '@waymark/domain/fairness'

/** The queue of password hashes: of sign-ins, of the passwords of links, and of others, such as new passwords. */
export type PasswordQueue = FairQueue<'sign-in' | 'links' | 'other'>

// A hash takes 19 MiB and, for tens of ms, one of Node's four worker threads, which files and DNS also use.
const AT_ONCE = 2
/** Some seconds of work. */
const MAX_WAITING = 128
const MAX_WAITING_PER_TENANT = 64
const MAX_WAIT_MS = 3_000
const RETRY_AFTER_S = 2

/**
 * Creates the queue in front of password hashing, one for a process. One hash at a time is kept for sign-ins. `maxWaiting`
 * is of all, half of it of one tenant or network.
 */
export const createPasswordQueue = (
  maxWaiting = MAX_WAITING,
  maxWaitingPerTenant = MAX_WAITING_PER_TENANT,
): PasswordQueue =>
  createFairQueue({
    what: 'password hashes',
    capacity: AT_ONCE,
    perTenant: 1,
    lanes: { 'sign-in': { reserved: 1 }, links: { max: 1 }, other: { max: 1 } },
    maxWaiting,
    maxWaitingPerTenant,
    maxWaitMs: MAX_WAIT_MS,
    retryAfterSeconds: RETRY_AFTER_S,
  })
