import type { Log } from '@waymark/contracts/log'
import { type Database, MigrationsPendingError, requireMigrated, serviceNames } from '@waymark/database'
import { retryFor } from './retry-for.ts'

type WaitOptions = {
  /** How long to wait for the database, in ms. 0: neither waits for it nor for its migrations. */
  ms: number
  log: Log
  /** The name of the process; a service also waits for the privileges of its database role. */
  name?: string
  signal?: AbortSignal | undefined
  /** Called after each check that found migrations missing. */
  onPending?: (() => Promise<void>) | undefined
}

/**
 * Waits until the database has all migrations of this version. It waits for migrations without limit, because building
 * an index on a large table may take hours.
 * @throws MigrationError when a migration failed; what the last attempt threw when the database did not answer in time
 */
export const waitForMigrations = (
  pool: Database['pool'],
  { ms, log, name, signal, onPending = async () => {} }: WaitOptions,
): Promise<void> => {
  const service = serviceNames.find((one) => one === name)
  const check = async (): Promise<void> => {
    try {
      await requireMigrated(pool, service)
    } catch (error) {
      if (ms > 0 && error instanceof MigrationsPendingError) await onPending()
      throw error
    }
  }
  const isWithoutLimit = (error: unknown): boolean => error instanceof MigrationsPendingError
  return retryFor(check, { ms, what: 'the database', log, signal, isWithoutLimit })
}
