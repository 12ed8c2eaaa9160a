import type { Pool, PoolClient } from 'pg'
import type { PrismaClient } from './generated/prisma/client.ts'
import { createPool, type PoolOptions } from './pool.ts'
import { createPrisma } from './prisma.ts'
import { type Commit, type TransactionOptions, withTransaction } from './transaction.ts'

export type DatabaseOptions = Omit<PoolOptions, 'max'> & {
  /** The most connections this process opens; Prisma shares them. */
  poolSize: number
}

export type Database = {
  pool: Pool
  /** For management reads and writes; created when it is first asked for. */
  readonly prisma: PrismaClient
  /** Runs `run` in a transaction: commits when it resolves, rolls back when it rejects. */
  transaction<T>(
    run: (client: PoolClient, commit: Commit) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>
  /** Waits for connections in use and closes all. Idempotent. */
  close(): Promise<void>
}

/** Opens the database for one process, without connecting yet. */
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
