export {
  AUDIT_LANE,
  type AuditAction,
  type AuditActor,
  OPERATOR,
  readProjectIds,
  SYSTEM,
  storeAuditEntries,
} from './audit-log-queries.ts'
