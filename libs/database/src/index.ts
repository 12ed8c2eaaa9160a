export { applyServiceRoles, type ServiceRolesOptions } from './apply-service-roles.ts'
export { type BulkColumn, bulkColumns } from './bulk-columns.ts'
export { type Database, type DatabaseOptions, openDatabase } from './database.ts'
export {
  DataDirInUseError,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './embedded-postgres.ts'
export { type EventPartitionsOptions, ensureEventPartitions } from './event-partitions.ts'
export { Prisma, type PrismaClient } from './generated/prisma/client.ts'
export { type MigrateOptions, MigrationError, migrate, requireMigrated } from './migrate.ts'
export { createPool, type PoolOptions } from './pool.ts'
export { createPrisma } from './prisma.ts'
export { retryConflicts } from './retry-conflicts.ts'
export {
  type ServiceName,
  serviceGrants,
  serviceNames,
  serviceRole,
} from './service-roles.ts'
export { classifyStoreError, isConnectionError, isDataError, isTransient } from './sql-errors.ts'
export { type Commit, withTransaction } from './transaction.ts'
