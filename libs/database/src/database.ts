import type { Pool, PoolClient } from 'pg'
import type { PrismaClient } from './generated/prisma/client.ts'
import { createPool, type PoolOptions } from './pool.ts'
import { createPrisma } from './prisma.ts'
import { type Commit, type TransactionOptions, withTransaction } from './transaction.ts'

type DatabaseOptions = Omit<PoolOptions, 'max'> & {
  /** Most connections of this process. Prisma uses the same pool. */
  poolSize: number
}

export type Database = {
  pool: Pool
  /** Callers that wait for a connection. */
  waiting(): number
  /** The Prisma client, which is created on first use. */
  readonly prisma: PrismaClient
  /** Runs `run` in a transaction; see `withTransaction`. */
  transaction<T>(
    run: (client: PoolClient, commit: Commit) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  /** Waits for connections in use and closes them all. Idempotent. */
  close(): Promise<void>
}

/** Opens the database. It connects on first use. */
export const openDatabase = ({ poolSize, ...options }: DatabaseOptions): Database => {
  const pool = createPool({ ...options, max: poolSize })
  let prisma: PrismaClient | undefined
  let closed: Promise<void> | undefined

  const close = async () => {
    await prisma?.$disconnect()
    await pool.end()
  }

  return {
    pool,
    waiting: () => pool.waitingTurns() + pool.waitingCount,
    get prisma() {
      prisma ??= createPrisma(pool)
      return prisma
    },
    transaction: (run, options) => withTransaction(pool, run, options),
    close: () => {
      closed ??= close()
      return closed
    },
  }
}
