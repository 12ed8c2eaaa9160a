export {
  type AuditAction,
  type AuditActor,
  OPERATOR,
  readProjectIds,
  storeAuditEntries,
} from './audit-log-queries.ts'
