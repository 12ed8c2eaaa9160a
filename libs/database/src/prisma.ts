import { PrismaPg } from '@prisma/adapter-pg'
import type { Pool } from 'pg'
import { PrismaClient } from './generated/prisma/client.ts'

/**
 * Creates the Prisma client that management uses, on the connections of `pool`, which stays the caller's to close.
 * Its query compiler is loaded with the first query.
 */
export const createPrisma = (pool: Pool): PrismaClient =>
  new PrismaClient({ adapter: new PrismaPg(pool), errorFormat: 'minimal' })
