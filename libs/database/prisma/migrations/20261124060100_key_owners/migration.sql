-- A key belongs to the user who made it and is revoked when they leave the project. Null: nobody's, such as the keys of
-- programs that no user made.
ALTER TABLE "core"."api_keys"
    ADD COLUMN "owner_id" UUID,
    ADD CONSTRAINT "api_keys_owner_id_fkey" FOREIGN KEY ("owner_id")
        REFERENCES "core"."users"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE INDEX "api_keys_owner_id_idx" ON "core"."api_keys"("owner_id") WHERE "owner_id" IS NOT NULL;

-- The audit log says who made the keys that exist: users, or keys, which pass their owner on. Whoever rotated a key owns
-- its successor.
WITH RECURSIVE made AS (
    SELECT k."id", a."actor_kind", a."actor_id"
    FROM "core"."api_keys" k
    LEFT JOIN "core"."api_keys" old ON old."replaced_by" = k."id"
    JOIN "core"."audit_log" a ON a."project_id" = k."project_id"
        AND a."operation" = CASE WHEN old."id" IS NULL THEN 'createApiKey' ELSE 'rotateApiKey' END
        AND a."resource_id" = coalesce(old."id", k."id")::text
), owned AS (
    SELECT made."id", u."id" AS "owner_id" FROM made
    JOIN "core"."users" u ON u."id" = made."actor_id" WHERE made."actor_kind" = 'user'
    UNION
    SELECT made."id", owned."owner_id" FROM made
    JOIN owned ON owned."id" = made."actor_id" WHERE made."actor_kind" = 'key'
)
UPDATE "core"."api_keys" k SET "owner_id" = owned."owner_id" FROM owned WHERE owned."id" = k."id";
