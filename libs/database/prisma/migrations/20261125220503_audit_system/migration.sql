-- What happens to a project without any of its users or keys. Rows that exist satisfied the narrower constraint.
ALTER TABLE "core"."audit_log" DROP CONSTRAINT "audit_log_actor_kind";
ALTER TABLE "core"."audit_log" ADD CONSTRAINT "audit_log_actor_kind"
    CHECK ("actor_kind" IN ('user', 'key', 'operator', 'system')) NOT VALID;
