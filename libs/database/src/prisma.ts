import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import { PrismaClient } from './generated/prisma/client.ts'

// Together less than the 4.6 s after which a request is answered 503: what commits later would be done twice by a repeat.
const CONNECT_TIMEOUT_MS = 1_500
const TRANSACTION_TIMEOUT_MS = 3_000

/**
 * Creates the Prisma client that management uses, on the connections of `pool`, which stays the caller's to close.
 * Its query compiler is loaded with the first query. A transaction that takes over 3 s is rolled back.
 */
export const createPrisma = (pool: Pool): PrismaClient =>
  new PrismaClient({
    adapter: new PrismaPg(pool),
    errorFormat: 'minimal',
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS, timeout: TRANSACTION_TIMEOUT_MS },
  })
