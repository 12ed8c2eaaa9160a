-- Which of a user's access tokens acted; null for sessions, keys and entries before this version.
ALTER TABLE "core"."audit_log" ADD COLUMN "access_token_id" UUID;
