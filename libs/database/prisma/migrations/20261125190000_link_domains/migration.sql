-- Hosts of projects that answer with the short links of their project, once their DNS is verified.
CREATE TABLE "link"."domains" (
    "id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "host" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "root_url" TEXT,
    "not_found_url" TEXT,
    "expired_url" TEXT,
    "verified_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "domains_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "domains_lower_case" CHECK ("host" = lower("host")),
    CONSTRAINT "domains_verified" CHECK ("verified_at" IS NULL OR "deleted_at" IS NULL),
    CONSTRAINT "domains_project_id_fkey" FOREIGN KEY ("project_id")
        REFERENCES "core"."projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "domains_project_id_host_key" ON "link"."domains"("project_id", "host");
CREATE UNIQUE INDEX "domains_id_project_id_key" ON "link"."domains"("id", "project_id");
-- A host answers for one project.
CREATE UNIQUE INDEX "domains_verified_host_key" ON "link"."domains"("host") WHERE "verified_at" IS NOT NULL;

ALTER TABLE "link"."links" ADD COLUMN "domain_id" UUID, ADD COLUMN "expired_url" TEXT,
    ADD CONSTRAINT "links_domain_id_project_id_fkey" FOREIGN KEY ("domain_id", "project_id")
        REFERENCES "link"."domains"("id", "project_id");
-- Codes are unique per domain; null is the domain of the installation. The new index is first, so that codes stay unique.
CREATE UNIQUE INDEX "links_code_domain_id_key" ON "link"."links"("code", "domain_id") NULLS NOT DISTINCT;
DROP INDEX "link"."links_code_key";
CREATE INDEX "links_domain_id_id_idx" ON "link"."links"("domain_id", "id") WHERE "domain_id" IS NOT NULL;
