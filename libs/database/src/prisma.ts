import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import { PrismaClient } from './generated/prisma/client.ts'

// Together below the deadline of a request (4.6 s), so that nothing commits after the client was answered 503.
const CONNECT_TIMEOUT_MS = 1_500
const TRANSACTION_TIMEOUT_MS = 3_000

/**
 * Creates a Prisma client that uses `pool`, which the caller must close. A transaction that takes over 3 s is rolled back.
 */
export const createPrisma = (pool: Pool): PrismaClient =>
  new PrismaClient({
    adapter: new PrismaPg(pool),
    errorFormat: 'minimal',
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS, timeout: TRANSACTION_TIMEOUT_MS },
  })
